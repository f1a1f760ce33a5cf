package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	aggregators "caucus/aggregator"
	"caucus/coordinator/records"
	"caucus/internal/database"
	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/protocol"
)

// BackupFile is the report's name in a backup, written last: a folder without it is no backup.
const BackupFile = "backup.json"

// BackupReport says what a backup holds: when it was made, how far the ledger had come, and each
// file's digest, which Restore checks.
type BackupReport struct {
	MadeAt time.Time    `json:"made"`
	Ledger privacy.Head `json:"ledger"`
	// Files maps each file's name to its SHA-256, hexadecimal.
	Files map[string]string `json:"files"`
	// NewerEntries is the number of entries that the ledger made after this backup, according to
	// the head file beside the coordinator's folder; 0 without a head file.
	NewerEntries int64 `json:"behind,omitempty"`
}

// Backup copies a coordinator's folder to a new folder, as of one moment. The coordinator may be
// running. Backup leaves out the head file beside the folder, because it must not be restored with
// the rest.
//
// Why the copies fit together: the store is copied first, then the store of shares, then the
// ledger. So the copied store of shares holds all contributions that the copied store has given to
// it, and any others are given again. The copied ledger holds all entries that the copied store
// knows. Further entries look as if the coordinator was killed just after its ledger's commit; a
// restored coordinator asks the ledger again and gets the same answer.
func Backup(ctx context.Context, dir, out string, now time.Time) (BackupReport, error) {
	fail := func(err error) (BackupReport, error) {
		return BackupReport{}, fmt.Errorf("back up coordinator in %s: %w", dir, err)
	}
	c, err := LoadConfig(filepath.Join(dir, ConfigFile))
	if err != nil {
		return fail(err)
	}
	if c.Store != "" {
		return fail(database.ErrServerCopy)
	}
	out = filepath.Clean(out)
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		return fail(fmt.Errorf("%s is there already: give another folder", out))
	}
	making := out + ".unfinished"
	if err := errors.Join(os.RemoveAll(making), os.Mkdir(making, 0o700)); err != nil {
		return fail(err)
	}
	defer os.RemoveAll(making) // after the rename this removes nothing
	stores, err := OpenStores(c)
	if err != nil {
		return fail(err)
	}
	err = stores.Store.Copy(ctx, filepath.Join(making, StoreFile))
	if err == nil {
		err = c.copyShares(ctx, making)
	}
	if err == nil {
		err = stores.Journal.Copy(ctx, filepath.Join(making, LedgerFile))
	}
	if err := errors.Join(err, stores.Close()); err != nil {
		return fail(err)
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return fail(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !inBackup(e.Name()) {
			continue
		}
		text, err := os.ReadFile(c.Path(e.Name()))
		if err == nil {
			err = protocol.WriteSecret(filepath.Join(making, e.Name()), text)
		}
		if err != nil {
			return fail(err)
		}
	}
	report := BackupReport{MadeAt: now.UTC()}
	if report.Files, err = digests(making); err != nil {
		return fail(err)
	}
	if report.Ledger, err = tryOut(ctx, making, report.Files); err != nil {
		return fail(err)
	}
	text, err := json.MarshalIndent(report, "", "  ")
	if err == nil {
		err = protocol.WriteSecret(filepath.Join(making, BackupFile), append(text, '\n'))
	}
	if err == nil {
		err = os.Rename(making, out)
	}
	if err == nil {
		err = folder.Sync(filepath.Dir(out))
	}
	if err != nil {
		return fail(err)
	}
	return report, nil
}

// inBackup excludes databases, which are copied separately, and temporary files of processes.
func inBackup(name string) bool {
	return name != "lock" && name != BackupFile && !strings.HasPrefix(name, ".") &&
		!strings.HasPrefix(name, StoreFile) && !strings.HasPrefix(name, LedgerFile) &&
		!strings.HasPrefix(name, SharesFile)
}

func (c Config) copyShares(ctx context.Context, to string) error {
	if _, err := os.Stat(c.Path(SharesFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := database.Check(c.Path(SharesFile)); err != nil {
		return err
	}
	return aggregators.Copy(ctx, c.Path(SharesFile), filepath.Join(to, SharesFile))
}

// digests returns the SHA-256 of every file in a folder, and makes the files durable.
func digests(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			err = errors.Join(f.Chmod(0o600), f.Sync(), f.Close())
		}
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		digest := sha256.Sum256(text)
		all[e.Name()] = hex.EncodeToString(digest[:])
	}
	return all, folder.Sync(dir)
}

// tryOut copies these files, opens the copy as a starting coordinator does, and returns the
// ledger's head.
func tryOut(ctx context.Context, from string, files map[string]string) (head privacy.Head,
	err error) {
	// mode 0700; not beside the backup, whose medium may be read-only
	dir, err := os.MkdirTemp("", "caucus-backup-*")
	if err != nil {
		return head, err
	}
	defer os.RemoveAll(dir)
	if err := copyFiles(from, dir, files); err != nil {
		return head, err
	}
	c, err := LoadConfig(filepath.Join(dir, ConfigFile))
	if err != nil {
		return head, err
	}
	c.Dir = dir
	if _, err := LoadKeyring(c); err != nil {
		return head, err
	}
	stores, err := OpenStores(c)
	if err != nil {
		return head, err
	}
	defer stores.Close()
	if err := stores.Store.Check(ctx); err != nil {
		return head, err
	}
	chain, err := privacy.VerifyEach(ctx, stores.Journal, func(privacy.Line) error { return nil })
	if err != nil {
		return head, err
	}
	var last int64
	if err := stores.Store.View(ctx, func(tx records.Tx) (err error) {
		last, err = tx.LedgerEntry()
		return err
	}); err != nil {
		return head, err
	}
	if head = chain.Head(); last > head.Sequence {
		return head, fmt.Errorf("its store knows entry %d, and its ledger ends at %d: they are not of one moment", last, head.Sequence)
	}
	return head, nil
}

// copyFiles copies files durably and checks their digests.
func copyFiles(from, to string, files map[string]string) error {
	for name, want := range files {
		if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return fmt.Errorf("%s names %q: it was changed", BackupFile, name)
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if digest := sha256.Sum256(text); hex.EncodeToString(digest[:]) != want {
			return fmt.Errorf("%s is not what was backed up: it was damaged or changed; use an older backup", name)
		}
		if err := protocol.WriteSecret(filepath.Join(to, name), text); err != nil {
			return err
		}
	}
	return nil
}

// CheckBackup checks that a backup is whole and that a coordinator could start from it. If dir is
// not "", it reports how far the backup's ledger is behind the head file of the coordinator in dir.
// It changes nothing.
func CheckBackup(ctx context.Context, from, dir string) (BackupReport, error) {
	fail := func(err error) (BackupReport, error) {
		return BackupReport{}, fmt.Errorf("check backup %s: %w", from, err)
	}
	text, err := os.ReadFile(filepath.Join(from, BackupFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		err = fmt.Errorf("%w: it is no backup, as caucus coordinator backup makes them", err)
	}
	var report BackupReport
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil {
		return fail(err)
	}
	for _, name := range []string{ConfigFile, StoreFile, LedgerFile} {
		if report.Files[name] == "" {
			return fail(fmt.Errorf("%s is not in it", name))
		}
	}
	head, err := tryOut(ctx, from, report.Files)
	if err != nil {
		return fail(err)
	}
	if head != report.Ledger {
		return fail(fmt.Errorf("its ledger is at %s, %s says %s", head, BackupFile, report.Ledger))
	}
	if dir == "" {
		return report, nil
	}
	kept, err := headBeside(from, dir)
	if err != nil {
		return fail(err)
	}
	report.NewerEntries = max(0, kept.Sequence-head.Sequence)
	return report, nil
}

// headBeside reads the head file of a coordinator restored to dir, the zero LedgerHead if there is
// none.
func headBeside(from, dir string) (privacy.Head, error) {
	c, err := LoadConfig(filepath.Join(from, ConfigFile))
	if err != nil {
		return privacy.Head{}, err
	}
	c.Dir = dir
	if c.HeadFile() == "" {
		return privacy.Head{}, nil
	}
	text, err := os.ReadFile(c.HeadFile())
	if errors.Is(err, fs.ErrNotExist) {
		return privacy.Head{}, nil
	}
	if err != nil {
		return privacy.Head{}, err
	}
	return privacy.ParseHead(string(text))
}

// Restore checks a backup and copies it to a new folder. It leaves the head file alone. If the
// ledger made entries after the backup, the head file or a caller tells the coordinator so after
// its start.
func Restore(ctx context.Context, from, dir string) (BackupReport, error) {
	fail := func(err error) (BackupReport, error) {
		return BackupReport{}, fmt.Errorf("restore coordinator to %s: %w", dir, err)
	}
	dir = filepath.Clean(dir)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fail(errors.New("it exists already: move it away and keep it, because it knows what was released since"))
	}
	report, err := CheckBackup(ctx, from, dir)
	if err != nil {
		return fail(err)
	}
	// A configuration that names a dir would make the restored coordinator use that folder.
	c, err := LoadConfig(filepath.Join(from, ConfigFile))
	if err != nil {
		return fail(err)
	}
	here, err := filepath.Abs(dir)
	if err != nil {
		return fail(err)
	}
	if used := filepath.Clean(c.Dir); used != filepath.Clean(from) && used != here {
		return fail(fmt.Errorf("its %s says dir: %s: restore it there, or take that out, back up and restore again", ConfigFile, used))
	}
	making := dir + ".unfinished"
	if err := errors.Join(os.RemoveAll(making), os.MkdirAll(making, 0o700)); err != nil {
		return fail(err)
	}
	defer os.RemoveAll(making) // after the rename this removes nothing
	if err := copyFiles(from, making, report.Files); err != nil {
		return fail(err)
	}
	if err := os.Rename(making, dir); err != nil {
		return fail(err)
	}
	return report, folder.Sync(filepath.Dir(dir))
}
