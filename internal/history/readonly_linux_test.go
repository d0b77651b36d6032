package history

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// unprivileged runs f as a user who has no special rights to files.
func unprivileged(f func()) {
	const nobody = 65534
	if os.Geteuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		unix.Setfsuid(nobody) // of this thread only
		defer unix.Setfsuid(0)
	}
	f()
}

func TestReadOnlyHome(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // others must get there
		t.Fatal(err)
	}
	path := filepath.Join(dir, "history.db")
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	record(t, db, attempt(0, 0, 0, 1, 0, 1))
	// What is there after kill -9: the latest attempts are in the log beside the file.
	killed := filepath.Join(dir, "killed.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		text, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(killed+suffix, text, 0o444)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(killed + "-wal"); err != nil || info.Size() == 0 {
		t.Fatal("no log beside the file", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		dir, file os.FileMode
	}{{"file", 0o777, 0o444}, {"directory", 0o555, 0o666}, {"both", 0o555, 0o444}} {
		t.Run(c.name, func(t *testing.T) {
			defer os.Chmod(dir, 0o755)
			if err := errors.Join(os.Chmod(path, c.file), os.Chmod(dir, c.dir)); err != nil {
				t.Fatal(err)
			}
			unprivileged(func() {
				if db, err := Open(path); !errors.Is(err, ErrReadOnly) {
					t.Errorf("Open: %v, %v", db, err)
				}
				for _, path := range []string{path, killed} {
					db, err := OpenReadOnly(path)
					if err != nil {
						t.Fatal(err)
					}
					if n := len(all(t, db)); n != 1 {
						t.Errorf("%d attempts in %s", n, path)
					}
					db.Close()
				}
			})
		})
	}
	if err := errors.Join(os.Remove(path), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	unprivileged(func() {
		if db, err := Open(path); !errors.Is(err, ErrReadOnly) {
			t.Errorf("Open where no file can be made: %v, %v", db, err)
		}
	})
}
