/* Workload for cJSON: parses a file, walks the records, changes them, prints the result; prints one number. */
#include "cJSON.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) return NULL;
  long size = ftell(file);
  rewind(file);
  char *text = malloc((size_t)size + 1);
  if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) return NULL;
  text[size] = 0;
  fclose(file);
  return text;
}

int main(int argc, char **argv) {
  char *text = argc == 2 ? slurp(argv[1]) : NULL;
  cJSON *root = text ? cJSON_Parse(text) : NULL;
  if (!root) {
    fprintf(stderr, "usage: parse FILE.json\n");
    return 2;
  }
  double sum = 0;
  cJSON *record;
  cJSON_ArrayForEach(record, root) {
    cJSON *item;
    double total = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(record, "items")) {
      total += cJSON_GetNumberValue(cJSON_GetObjectItem(item, "price")) *
               cJSON_GetNumberValue(cJSON_GetObjectItem(item, "count"));
    }
    cJSON_AddNumberToObject(record, "total", total);
    cJSON_DeleteItemFromObject(record, "tags");
    sum += total;
  }
  char *printed = cJSON_PrintUnformatted(root);
  printf("%.2f %zu\n", sum, strlen(printed));
  free(printed);
  cJSON_Delete(root);
  free(text);
  return 0;
}
