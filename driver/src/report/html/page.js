"use strict";
(() => {
  const files = JSON.parse(document.getElementById("data").textContent).files;
  const byPath = new Map(files.map((f, i) => [f.path, i]));
  const kinds = ["Lines", "Branches", "Functions", "Statements"];
  const $ = (id) => document.getElementById(id);
  const html = (text) => String(text).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");
  const link = (path, line) => "#/" + encodeURI(path).replace(/[#?]/g, encodeURIComponent) + (line ? ":" + line : "");
  const share = ([covered, total]) => (total ? covered / total : null);
  const percent = (p) => (p === null ? "–" : (p > 0.999 && p < 1 ? 99.9 : p > 0 && p < 0.001 ? 0.1 : 100 * p).toFixed(1));

  // Light or dark: as the system says, until somebody chooses.
  const theme = $("theme");
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  const remembered = (() => { try { return localStorage.getItem("unseen-theme"); } catch { return null; } })();
  if (remembered === "dark" || remembered === "light") document.documentElement.dataset.theme = remembered;
  theme.hidden = false;
  nameTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("unseen-theme", document.documentElement.dataset.theme); } catch { /* not kept */ }
    nameTheme();
  });

  // All that follows is about coverage.
  if (!$("files")) return;

  // The picture: a rectangle per file, as large as it has lines, in its directory.
  function squarify(items, x, y, w, h, place) {
    let rest = items.filter((i) => i.size > 0).sort((a, b) => b.size - a.size);
    let sum = rest.reduce((s, i) => s + i.size, 0);
    while (rest.length) {
      const short = Math.min(w, h), scale = (w * h) / sum;
      let row = [], area = 0, worst = Infinity;
      for (const item of rest) {
        const next = area + item.size * scale, side = next / short;
        const bad = Math.max(...[...row, item].map((i) => {
          const other = (i.size * scale) / side;
          return Math.max(side / other, other / side);
        }));
        if (bad > worst) break;
        worst = bad; area = next; row.push(item);
      }
      const side = area / short;
      let at = 0;
      for (const item of row) {
        const long = (item.size * scale) / side;
        if (w >= h) place(item, x, y + at, side, long); else place(item, x + at, y, long, side);
        at += long;
      }
      if (w >= h) { x += side; w -= side; } else { y += side; h -= side; }
      sum -= row.reduce((s, i) => s + i.size, 0);
      rest = rest.slice(row.length);
    }
  }

  function drawMap() {
    const map = $("map");
    map.hidden = false;
    const width = map.clientWidth || 1000, height = Math.min(330, Math.max(150, 60 + files.length * 14));
    const groups = new Map();
    files.forEach((f, i) => {
      const cut = f.path.lastIndexOf("/"), dir = cut < 0 ? "." : f.path.slice(0, cut);
      const size = f.totals[0][1] || f.totals[2][1];
      if (!groups.has(dir)) groups.set(dir, { dir, size: 0, files: [] });
      const group = groups.get(dir);
      group.size += size;
      group.files.push({ i, f, size });
    });
    const out = [], gap = 1.5;
    const cell = ({ i, f }, x, y, w, h) => {
      const p = share(f.totals[0]) ?? share(f.totals[2]);
      const name = f.path.slice(f.path.lastIndexOf("/") + 1);
      w = Math.max(0, w - gap); h = Math.max(0, h - gap);
      const fits = (text) => text.length * 6.2 + 8 < w;
      let label = "";
      if (h > 16 && fits(name)) label = `<text x="${x + 5}" y="${y + 14}">${html(name)}</text>`;
      else if (h > 16 && w > 44) label = `<text x="${x + 5}" y="${y + 14}">${html(name.slice(0, (w - 14) / 6.2 | 0))}…</text>`;
      if (h > 32 && w > 40) label += `<text x="${x + 5}" y="${y + 28}" opacity=".75">${percent(p)} %</text>`;
      out.push(`<a class="cell${p === null ? " empty" : ""}" href="${html(link(f.path))}" style="--p:${p ?? 0}" tabindex="-1">` +
        `<title>${html(f.path)}\n${percent(p)} % of ${f.totals[0][1]} lines</title>` +
        `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="2"/>${label}</a>`);
    };
    squarify([...groups.values()], 0, 0, width, height, (group, x, y, w, h) => {
      const named = groups.size > 1 && h > 40 && w > 60;
      if (named) {
        const room = (w - 12) / 6.6 | 0;
        const name = group.dir.length > room ? "…" + group.dir.slice(group.dir.length - room + 1) : group.dir;
        out.push(`<text class="group" x="${x + 5}" y="${y + 13}" data-dir="${html(group.dir)}">${html(name)}<title>${html(group.dir)}</title></text>`);
      }
      const top = named ? 18 : 0;
      squarify(group.files, x + gap, y + top, w - 2 * gap, h - top - gap, cell);
    });
    map.innerHTML = `<svg viewBox="0 0 ${width} ${height}" height="${height}" role="img" aria-label="Each rectangle is a file, as large as it has lines; the table below says the same in numbers">${out.join("")}</svg>` +
      `<div class="legend"><span>Each rectangle is a file, as large as it has lines with code.</span><span>0 %<span class="ramp"></span>100 % of lines</span></div>`;
    map.querySelectorAll(".group").forEach((g) => g.addEventListener("click", () => {
      $("filter").value = g.dataset.dir === "." ? "" : g.dataset.dir + "/";
      filterNow();
    }));
  }

  // The tables: sorting, filtering.
  const body = document.querySelector("#files tbody");
  const rows = [...body.rows].map((row) => ({ row, f: files[row.dataset.i] }));

  function sortable(table, initial, sort) {
    table.querySelectorAll("th[data-key]").forEach((th) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...th.childNodes);
      th.append(button);
      if (th.dataset.key === initial) th.setAttribute("aria-sort", "ascending");
      button.addEventListener("click", () => {
        const up = th.getAttribute("aria-sort") !== "ascending";
        table.querySelectorAll("th[aria-sort]").forEach((t) => t.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(th.dataset.key, up ? 1 : -1);
      });
    });
  }
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  sortable(document.querySelector("#files table"), "name", (key, sign) => {
    const kind = kinds.indexOf(key);
    // What has nothing to cover goes last either way.
    const value = ({ f }) => (kind < 0 ? f.path : share(f.totals[kind]) ?? (sign > 0 ? 2 : -1));
    rows.sort((a, b) => sign * compare(value(a), value(b)) || compare(b.f.totals[0][1], a.f.totals[0][1]));
    body.append(...rows.map((r) => r.row));
  });

  const functions = files.flatMap((f) => f.functions.map((fn) => ({ f, fn, text: (fn[0] + " " + f.path).toLowerCase() })));
  let shownFunctions = functions, limit = 300;
  function drawFunctions() {
    const panel = $("functions");
    if (!panel.firstChild) {
      panel.innerHTML = `<table><thead><tr><th scope="col" data-key="name">Function</th><th scope="col" data-key="file">Place</th>` +
        `<th scope="col" class="num" data-key="hits">Processes</th><th scope="col" class="num" data-key="statements">Statements</th></tr></thead><tbody></tbody></table>` +
        `<button type="button" class="more">Show more</button>`;
      sortable(panel, "", (key, sign) => {
        const value = { name: (x) => x.fn[0], file: (x) => x.f.path, hits: (x) => x.fn[2], statements: (x) => share([x.fn[3], x.fn[4]]) ?? 2 }[key];
        functions.sort((a, b) => sign * compare(value(a), value(b)) || b.fn[4] - a.fn[4]);
        filterNow();
      });
      panel.querySelector(".more").addEventListener("click", () => { limit += 1000; drawFunctions(); });
    }
    panel.querySelector("tbody").innerHTML = shownFunctions.slice(0, limit).map(({ f, fn }) => {
      const [name, line, hits, covered, total, reached, instances] = fn, p = share([covered, total]);
      return `<tr><th scope="row"><a class="name" href="${html(link(f.path, line))}">${html(name)}</a>${instances > 1 ? ` <span class="sub">${reached} of ${instances} instances</span>` : ""}</th>` +
        `<td class="dir">${html(f.path)}:${line}</td><td class="num ${hits ? "" : "zero"}">${hits}</td>` +
        (p === null ? `<td class="num none">–</td></tr>` : `<td class="num" style="--p:${p}"><span class="of">${covered}/${total}</span> <b>${percent(p)}</b><div class="meter"><i></i></div></td></tr>`);
    }).join("");
    panel.querySelector(".more").hidden = shownFunctions.length <= limit;
  }

  const hasGaps = (f) => f.totals.some(([c, t]) => c < t);
  function filterNow() {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean), only = $("gaps").checked;
    const matches = (text) => words.every((w) => text.includes(w));
    let count = 0;
    if ($("functions").hidden) {
      for (const { row, f } of rows) {
        row.hidden = !(matches(f.path.toLowerCase()) && (!only || hasGaps(f)));
        count += !row.hidden;
      }
      $("count").textContent = `${count} of ${rows.length} files`;
    } else {
      shownFunctions = functions.filter((x) => matches(x.text) && (!only || !x.fn[2] || x.fn[3] < x.fn[4]));
      drawFunctions();
      $("count").textContent = `${shownFunctions.length} of ${functions.length} functions`;
    }
  }
  const tabs = [$("tab-files"), $("tab-functions")];
  tabs.forEach((tab, i) => {
    const show = () => {
      tabs.forEach((t) => {
        t.setAttribute("aria-selected", t === tab);
        t.tabIndex = t === tab ? 0 : -1;
        $(t.getAttribute("aria-controls")).hidden = t !== tab;
      });
      filterNow();
    };
    tab.addEventListener("click", show);
    tab.addEventListener("keydown", (e) => {
      if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
      tabs[1 - i].focus();
      tabs[1 - i].click();
    });
  });
  document.querySelectorAll(".tabs, .search, .check").forEach((e) => { e.hidden = false; });
  $("filter").addEventListener("input", () => { limit = 300; filterNow(); });
  $("gaps").addEventListener("change", filterNow);

  // Sources. Tokens are coloured by a small reading of C, C++ and Rust: strings, comments, numbers, keywords.
  const keywords = new Set(("alignas alignof as asm async auto await bool break case catch char class const constexpr continue crate " +
    "decltype default delete do double dyn else enum explicit extern false final float fn for friend goto if impl in inline int let long loop " +
    "match mod move mut namespace new noexcept nullptr operator override private protected pub public ref register return self Self short " +
    "signed sizeof static struct super switch template this throw trait true try type typedef typename union unsafe unsigned use using " +
    "virtual void volatile where while size_t u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 str").split(" "));
  const token = /\/\/.*|\/\*[^]*?(?:\*\/|$)|"(?:\\.|[^"\\])*"?|'(?:\\[^']*|[^'\\])'|\b\d[\w.]*|[A-Za-z_]\w*/g;

  // Pieces of a line: [from, to, class]. `open` says that the line begins inside a block comment.
  function tokens(text, open) {
    const out = [];
    let from = 0;
    if (open) {
      const end = text.indexOf("*/");
      if (end < 0) return [[[0, text.length, "c"]], true];
      out.push([0, end + 2, "c"]);
      from = end + 2;
    }
    const directive = /^\s*#\s*[a-z]+/.exec(text);
    if (directive && !open) { out.push([0, directive[0].length, "pre"]); from = directive[0].length; }
    token.lastIndex = from;
    let stillOpen = false;
    for (let m; (m = token.exec(text)); ) {
      const t = m[0], c = t[0];
      const comment = t.startsWith("//") || t.startsWith("/*");
      const kind = comment ? "c" : c === '"' || c === "'" ? "s" : c >= "0" && c <= "9" ? "n" : keywords.has(t) ? "k" : "";
      if (t.startsWith("/*") && !(t.length > 3 && t.endsWith("*/"))) stillOpen = true;
      if (kind) out.push([m.index, m.index + t.length, kind]);
    }
    return [out, stillOpen];
  }

  function paint(text, pieces, marks) {
    const cuts = new Set([0, text.length]);
    for (const [a, b] of [...pieces, ...marks]) { cuts.add(Math.min(a, text.length)); cuts.add(Math.min(b, text.length)); }
    const at = [...cuts].sort((a, b) => a - b);
    let out = "";
    for (let i = 0; i + 1 < at.length; i++) {
      const [a, b] = [at[i], at[i + 1]];
      let piece = html(text.slice(a, b));
      const kind = pieces.find(([x, y]) => x <= a && b <= y);
      if (kind) piece = `<span class="${kind[2]}">${piece}</span>`;
      if (marks.some(([x, y]) => x <= a && b <= y)) piece = `<mark title="not reached">${piece}</mark>`;
      out += piece;
    }
    return out;
  }

  const encoder = new TextEncoder(), decoder = new TextDecoder();
  // Columns of debug info count bytes.
  const column = (text, byte) => (/^[\x00-\x7f]*$/.test(text) ? byte : decoder.decode(encoder.encode(text).slice(0, byte)).length);

  const CHUNK = 200, ROW = 20;
  let current = null;

  function group(pairs, key) {
    const map = new Map();
    for (const p of pairs) { const k = key(p); if (map.has(k)) map.get(k).push(p); else map.set(k, [p]); }
    return map;
  }

  function openFile(index, line) {
    const f = files[index], main = $("file");
    if (current !== index) {
      current = index;
      const hits = new Map(f.lines), gaps = group(f.gaps, (g) => g[0]), branches = group(f.branches, (b) => b[0]);
      const text = f.source === null ? null : f.source.split("\n");
      const last = Math.max(text ? text.length : 0, f.lines.length ? f.lines[f.lines.length - 1][0] : 0);
      const never = (b) => b[2].filter((arm) => !arm[1]);
      const state = (n) => {
        const h = hits.get(n);
        if (h === undefined) return "";
        if (!h) return "no";
        return gaps.has(n) || (branches.get(n) || []).some((b) => never(b).length) ? "part" : "yes";
      };
      const numbers = text ? Array.from({ length: last }, (_, i) => i + 1) : f.lines.map((l) => l[0]);
      const opens = [];
      if (text) { let open = false; text.forEach((t, i) => { opens[i] = open; if (open || t.includes("/*")) open = tokens(t, open)[1]; }); }

      const rowHtml = (n) => {
        const kind = state(n), h = hits.get(n), source = text && text[n - 1] !== undefined ? text[n - 1] : "";
        const marks = (gaps.get(n) || []).map(([, a, b]) => [column(source, a - 1), b ? column(source, b - 1) : source.length]);
        let chip = "";
        const decisions = (branches.get(n) || []).filter((b) => b[2].length);
        if (decisions.length) {
          const arms = decisions.flatMap((b) => b[2]), taken = arms.filter((a) => a[1]).length;
          const missing = arms.filter((a) => !a[1]);
          const words = !missing.length ? `${taken}/${arms.length} taken` : !taken ? "branch not reached"
            : missing.length <= 2 ? "never " + missing.map((a) => a[0]).join(", ") : `${missing.length} of ${arms.length} never`;
          chip = `<button type="button" class="arms${missing.length ? "" : " full"}" aria-expanded="false" data-n="${n}">${html(words)}</button>`;
        }
        const said = kind === "no" ? `<span class="aside">not reached </span>` : "";
        return `<div class="row ${kind}" data-l="${n}"><span class="hits">${said}${h === undefined ? "" : h}</span>` +
          `<a class="ln" href="${html(link(f.path, n))}">${n}</a><code>${paint(source, tokens(source, opens[n - 1])[0], marks)}${chip}</code></div>`;
      };

      const stats = kinds.map((k, i) => {
        const p = share(f.totals[i]);
        return `<div style="--p:${p ?? 0}"><span>${k}</span> <b>${percent(p)}${p === null ? "" : " %"}</b><div class="meter"><i></i></div></div>`;
      }).join("");
      const cut = f.path.lastIndexOf("/") + 1;
      main.innerHTML = `<div class="head"><a class="back" href="#">← All files</a><h2><span class="dir">${html(f.path.slice(0, cut))}</span>${html(f.path.slice(cut))}</h2>` +
        `<div class="stats">${stats}</div><div class="jump"><span class="sub" id="where" aria-live="polite"></span><button type="button" id="prev" title="Key p">↑ Previous gap</button><button type="button" id="next" title="Key n">↓ Next gap</button></div></div>` +
        (f.changed ? `<p class="note">The source was changed after this was recorded: lines may have moved.</p>` : "") +
        (text ? "" : `<p class="note">The source file is not there; only what was recorded is shown.</p>`) +
        `<div class="panes"><div class="code"><div class="scroll" id="scroll"></div></div><nav class="side" aria-label="Functions of this file"></nav></div>` +
        `<div class="strip" aria-hidden="true"></div>`;
      main.querySelector(".side").innerHTML = !f.functions.length ? "" : `<h3>${f.functions.length === 1 ? "1 function" : f.functions.length + " functions"}</h3><ol>` +
        f.functions.map(([name, at, h, c, t]) => `<li class="${h ? "" : "never"}"><a href="${html(link(f.path, at))}" title="${html(name)}: ${h ? "reached" : "never reached"}">` +
          `<span class="pc">${t ? Math.floor((100 * c) / t) + "%" : "–"}</span><span class="name">${html(name)}</span></a></li>`).join("") + "</ol>";

      // Long sources are filled in as they come into view.
      const scroll = $("scroll"), lazy = numbers.length > 20000, chunks = [];
      const fill = (c) => { if (!c.done) { c.done = true; c.element.style.height = ""; c.element.innerHTML = c.numbers.map(rowHtml).join(""); } };
      for (let i = 0; i < numbers.length; i += CHUNK) {
        const part = numbers.slice(i, i + CHUNK), element = document.createElement("div");
        element.className = "chunk";
        element.style.containIntrinsicSize = `auto ${part.length * ROW}px`;
        if (lazy) element.style.height = part.length * ROW + "px";
        chunks.push({ element, numbers: part, done: false });
        scroll.append(element);
      }
      if (lazy) {
        const seen = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting)
          .forEach((e) => fill(chunks.find((c) => c.element === e.target))), { rootMargin: "1500px" });
        chunks.forEach((c) => seen.observe(c.element));
      } else chunks.forEach(fill);
      main.rowOf = (n) => {
        const chunk = chunks.find((c) => c.numbers[c.numbers.length - 1] >= n);
        if (!chunk) return null;
        fill(chunk);
        return [...chunk.element.children].find((r) => +r.dataset.l >= n);
      };

      scroll.addEventListener("click", (e) => {
        const chip = e.target.closest(".arms");
        if (!chip) return;
        const row = chip.closest(".row"), open = chip.getAttribute("aria-expanded") === "true";
        chip.setAttribute("aria-expanded", !open);
        if (open) { row.querySelector(".detail").remove(); return; }
        const detail = document.createElement("div");
        detail.className = "detail";
        detail.innerHTML = branches.get(+chip.dataset.n).filter((b) => b[2].length).map(([, col, arms]) => `<ul><li class="sub">column ${col}</li>` +
          arms.map(([label, h]) => `<li class="${h ? "" : "never"}">${html(label)}: ${h ? h + (h === 1 ? " process" : " processes") : "never"}</li>`).join("") + "</ul>").join("");
        row.append(detail);
      });

      // Where the gaps are: runs of lines that are not wholly reached.
      const runs = [];
      let previous = 0;
      for (const [n] of f.lines) {
        const kind = state(n), before = runs[runs.length - 1];
        if (kind !== "yes") {
          if (before && kind === before.kind && before.to === previous) before.to = n; else runs.push({ from: n, to: n, kind });
        }
        previous = n;
      }
      const strip = main.querySelector(".strip");
      const PARTS = 500, parts = new Array(PARTS).fill("");
      for (const { from, to, kind } of runs) {
        const end = Math.min(PARTS - 1, Math.floor((PARTS * (to - 1)) / last));
        for (let i = Math.floor((PARTS * (from - 1)) / last); i <= end; i++) if (parts[i] !== "no") parts[i] = kind;
      }
      const colours = { "": "transparent", no: "var(--no-edge)", part: "var(--part-edge)" };
      const stops = parts.flatMap((kind, i) => i && parts[i - 1] === kind ? [] :
        [...(i ? [`${colours[parts[i - 1]]} ${(100 * i) / PARTS}%`] : []), `${colours[kind]} ${(100 * i) / PARTS}%`]);
      strip.style.background = `linear-gradient(${stops.join(",")},${colours[parts[PARTS - 1]]} 100%)`;
      strip.addEventListener("click", (e) => go(Math.max(1, Math.round((last * e.clientY) / innerHeight)), false));
      let at = -1;
      const go = (n, mark) => {
        const row = main.rowOf(n);
        if (!row) return;
        main.querySelectorAll(".here").forEach((r) => r.classList.remove("here"));
        if (mark) row.classList.add("here");
        row.scrollIntoView({ block: "center" });
      };
      const step = (by) => {
        if (!runs.length) return;
        at = (at + by + runs.length) % runs.length;
        if (by < 0 && at < 0) at = runs.length - 1;
        $("where").textContent = `${at + 1} of ${runs.length}`;
        go(runs[at].from, true);
      };
      main.step = step;
      main.go = go;
      $("where").textContent = runs.length ? `${runs.length} ${runs.length === 1 ? "gap" : "gaps"}` : "no gaps";
      $("next").addEventListener("click", () => step(1));
      $("prev").addEventListener("click", () => step(at < 0 ? 0 : -1));
      $("next").disabled = $("prev").disabled = !runs.length;
    }
    $("overview").hidden = true;
    main.hidden = false;
    if (line) main.go(line, true); else scrollTo(0, 0);
  }

  let overviewScroll = 0;
  function route() {
    const wanted = location.hash.startsWith("#/") ? decodeURIComponent(location.hash.slice(2)) : null;
    const [, path, line] = wanted === null ? [] : byPath.has(wanted) ? [0, wanted] : /^(.*?)(?::(\d+))?$/.exec(wanted);
    if (path !== undefined && byPath.has(path)) {
      if (!$("overview").hidden) overviewScroll = scrollY;
      openFile(byPath.get(path), line ? +line : 0);
      return;
    }
    $("file").hidden = true;
    $("overview").hidden = false;
    drawMap();
    scrollTo(0, overviewScroll);
  }
  addEventListener("hashchange", route);
  let resizing = 0;
  addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(() => { if (!$("overview").hidden) drawMap(); }, 120); });
  addEventListener("keydown", (e) => {
    if (e.target instanceof HTMLInputElement || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "/" && !$("overview").hidden) { e.preventDefault(); $("filter").focus(); }
    if ($("file").hidden) return;
    if (e.key === "n") $("next").click();
    if (e.key === "p") $("prev").click();
    if (e.key === "Escape") location.hash = "";
  });
  filterNow();
  route();
})();
