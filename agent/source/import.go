package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"caucus/internal/folder"
	"caucus/protocol"
)

// An import is a table file and what was seen when it was read, named by source and digest, in a
// folder that nobody else may read. No backup has it: it is made again by declaring.

// importFile is where a declaration's table lies.
func (s Sources) importFile(d Declaration) string {
	return filepath.Join(s.Imports, importName(d.Source, d.Import)+".table")
}

func (s Sources) seenFile(d Declaration) string {
	return filepath.Join(s.Imports, importName(d.Source, d.Import)+".seen")
}

// importName of no digest is how all of a source's begin: an escaped name has no comma.
func importName(source, digest string) string {
	return strings.ReplaceAll(url.PathEscape(source), ",", "%2C") + "," + digest[:min(16, len(digest))]
}

// seen is what was seen when a source was imported.
func (s Sources) seen(d Declaration) (out Seen, err error) {
	b, err := os.ReadFile(s.seenFile(d))
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	return out, err
}

// newImport collects a source's records in a folder of its own.
type newImport struct {
	*sorter
	sources Sources
	folder  string
	unlock  func()
	seen    []byte
}

const unfinished = "unfinished-"

func (s Sources) newImport(name string) (*newImport, error) {
	own, err := readSchema(s.Named[name].Schema)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Imports, 0o700); err != nil {
		return nil, err
	}
	unlock, err := folder.LockFile(filepath.Join(s.Imports, "lock"))
	if errors.Is(err, folder.ErrHeld) {
		return nil, errors.New("another import is going on: wait for its end")
	}
	if err != nil {
		return nil, err
	}
	removeUnfinished(s.Imports)
	dir, err := os.MkdirTemp(s.Imports, unfinished)
	if err != nil {
		unlock()
		return nil, err
	}
	return &newImport{sorter: newSorter(own.Coding(), s.Key, dir), sources: s, folder: dir, unlock: unlock}, nil
}

func (n *newImport) table() string { return filepath.Join(n.folder, "table") }

// write writes the table, and returns its digest.
func (n *newImport) write(seen Seen) (digest string, err error) {
	if n.seen, err = json.Marshal(seen); err != nil {
		return "", err
	}
	file, err := os.OpenFile(n.table(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	digest, err = n.sorter.write(file)
	return digest, errors.Join(err, file.Close())
}

// place moves the import to where its declaration says it lies.
func (n *newImport) place(d Declaration) error {
	if err := protocol.WriteSecret(n.sources.seenFile(d), n.seen); err != nil {
		return err
	}
	return os.Rename(n.table(), n.sources.importFile(d))
}

// remove removes what is no import yet.
func (n *newImport) remove() {
	_ = n.sorter.close()
	removeUnfinished(n.sources.Imports)
	n.unlock()
}

// removeUnfinished removes imports that came to no end, under the lock.
func removeUnfinished(imports string) {
	left, _ := filepath.Glob(filepath.Join(imports, unfinished+"*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir) // the next import tries again
	}
}

// forgetImports removes all imports of a source but one.
func (s Sources) forgetImports(source, but string) error {
	all, err := os.ReadDir(s.Imports)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, file := range all {
		of := strings.HasPrefix(file.Name(), importName(source, ""))
		if of && (but == "" || !strings.HasPrefix(file.Name(), importName(source, but))) {
			err = errors.Join(err, os.Remove(filepath.Join(s.Imports, file.Name())))
		}
	}
	return err
}

// Declared says whether anything was declared of a source, in force or not.
func (s Sources) Declared(name string) bool {
	_, err := os.Stat(s.declarationFile(name))
	return err == nil
}

// Forget removes a source's import and declaration: studies of it wait until a person declares it.
func (s Sources) Forget(name string) error {
	if !s.Declared(name) {
		return fmt.Errorf("forget source %s: it is not declared", name)
	}
	if err := errors.Join(s.forgetImports(name, ""), os.Remove(s.declarationFile(name))); err != nil {
		return fmt.Errorf("forget source %s: %w", name, err)
	}
	return nil
}
