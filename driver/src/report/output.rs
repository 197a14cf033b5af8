//! Where a report goes: standard output, or a file that appears whole or not at all.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes to the file, or to standard output without one. A reader that has seen enough (`| head`) is no error.
pub fn write(file: Option<&Path>, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let Some(file) = file.filter(|f| *f != Path::new("-")) else {
        let mut out = BufWriter::new(io::stdout().lock());
        return match content(&mut out).and_then(|()| out.flush()) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        };
    };
    // Through a link to what it means; to a device or pipe as it is.
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    if fs::metadata(&target).is_ok_and(|m| !m.is_file()) {
        let mut out = BufWriter::new(fs::File::options().write(true).open(&target)?);
        content(&mut out)?;
        return out.flush();
    }
    let directory = target.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .prefix(".unseen-")
        .tempfile_in(directory)?;
    let mut out = BufWriter::new(temporary.as_file_mut());
    content(&mut out)?;
    out.flush()?;
    drop(out);
    temporary.persist(&target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_left_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("report");
        fs::write(&file, "old").unwrap();
        let failed = write(Some(&file), |out| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        write(Some(&file), |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o400, 0o400);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let full = write(Some(Path::new("/dev/full")), |out| out.write_all(&[b'x'; 100_000]));
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(Some(&link), |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
