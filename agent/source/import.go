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
	"caucus/study"
)

// An import is one or two table files and a Seen file, named by source and digest, in a folder that
// only its owner may access. It needs no backup, because declaring the source again makes it again.

func (s Sources) importFile(d Declaration) string {
	return filepath.Join(s.Imports, importName(d.Source, d.ImportDigest)+".table")
}

// patientsFile is the table of one record of each patient (choices). There is none if no record has
// a patient's number, and by a day only if the schema names one.
func (s Sources) patientsFile(d Declaration, by study.Choice) string {
	return filepath.Join(s.Imports, importName(d.Source, d.ImportDigest)+patientsTable(by))
}

func patientsTable(by study.Choice) string { return ".patients" + string(by) }

func (s Sources) seenFile(d Declaration) string {
	return filepath.Join(s.Imports, importName(d.Source, d.ImportDigest)+".seen")
}

// importName with an empty digest is the prefix of all imports of a source, because an escaped name
// has no comma.
func importName(source, digest string) string {
	return strings.ReplaceAll(url.PathEscape(source), ",", "%2C") + "," +
		digest[:min(16, len(digest))]
}

// seen reads the Seen of an import. No study depends on it. If the file is lost, a note says so.
func (s Sources) seen(d Declaration, rows int) (out SourceReading) {
	b, err := os.ReadFile(s.seenFile(d))
	if err != nil || json.Unmarshal(b, &out) != nil {
		return SourceReading{Records: rows, Notes: []string{"what was odd at the import is not known any more: declare the source again to see it"}}
	}
	return out
}

type newImport struct {
	*sorter
	sources Sources
	folder  string
	unlock  func()
	seen    []byte
}

// unfinished begins the name of an import's folder while the import is made. A finished import is
// files whose names may begin so too, because people choose the names of sources.
const unfinished = "unfinished-"

// lock excludes other imports until unlock is called.
func (s Sources) lock() (unlock func(), err error) {
	if err := os.MkdirAll(s.Imports, 0o700); err != nil {
		return nil, err
	}
	unlock, err = folder.LockFile(filepath.Join(s.Imports, "lock"))
	if errors.Is(err, folder.ErrLocked) {
		err = errors.New("another import is going on: wait for its end")
	}
	return unlock, err
}

func (s Sources) newImport(name string) (*newImport, error) {
	own, err := ReadSchema(s.ByName[name].Schema)
	if err != nil {
		return nil, err
	}
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	removeUnfinished(s.Imports)
	dir, err := os.MkdirTemp(s.Imports, unfinished)
	if err != nil {
		unlock()
		return nil, err
	}
	return &newImport{sorter: newSorter(own.Coding(), s.Key, dir), sources: s, folder: dir,
		unlock: unlock}, nil
}

func (n *newImport) table() string { return filepath.Join(n.folder, "table") }

func (n *newImport) patients(by study.Choice) string {
	return filepath.Join(n.folder, patientsTable(by))
}

func (n *newImport) write(seen SourceReading, one *choices) (digest string, err error) {
	if n.seen, err = json.Marshal(seen); err != nil {
		return "", err
	}
	digest, err = n.writeTable(n.table(), n.rows, func([]byte) bool { return true })
	for i, by := range study.Choices() {
		if err != nil || len(one.of) == 0 || by != study.ByKey && !one.dated {
			break
		}
		_, err = n.writeTable(n.patients(by), len(one.of), one.taker(i))
	}
	return digest, err
}

func (n *newImport) writeTable(path string, rows int, takes func([]byte) bool) (string, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	digest, err := n.sorter.write(file, rows, takes)
	return digest, errors.Join(err, file.Close())
}

func (n *newImport) place(d Declaration) error {
	if err := protocol.WriteSecret(n.sources.seenFile(d), n.seen); err != nil {
		return err
	}
	if err := os.Rename(n.table(), n.sources.importFile(d)); err != nil {
		return err
	}
	for _, by := range study.Choices() {
		if file := n.patients(by); exists(file) {
			if err := os.Rename(file, n.sources.patientsFile(d, by)); err != nil {
				return err
			}
		}
	}
	return folder.Sync(n.sources.Imports)
}

func (n *newImport) remove() {
	_ = n.sorter.close()
	removeUnfinished(n.sources.Imports)
	n.unlock()
}

func removeUnfinished(imports string) {
	left, _ := os.ReadDir(imports)
	for _, dir := range left {
		if dir.IsDir() && strings.HasPrefix(dir.Name(), unfinished) {
			_ = os.RemoveAll(filepath.Join(imports, dir.Name())) // the next import tries again
		}
	}
}

func (s Sources) imports(source string) (names []string, err error) {
	all, err := os.ReadDir(s.Imports)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	for _, file := range all {
		if strings.HasPrefix(file.Name(), importName(source, "")) {
			names = append(names, file.Name())
		}
	}
	return names, err
}

func (s Sources) forgetImports(source, but string) error {
	names, err := s.imports(source)
	for _, name := range names {
		if but == "" || !strings.HasPrefix(name, importName(source, but)) {
			err = errors.Join(err, os.Remove(filepath.Join(s.Imports, name)))
		}
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Declared reports whether anything is stored for a source: a declaration, in force or not, or an
// import.
func (s Sources) Declared(name string) bool {
	names, _ := s.imports(name)
	return len(names) > 0 || exists(s.declarationFile(name))
}

// Forget removes a source's declaration, and then its imports. Studies wait until a person declares
// the source.
func (s Sources) Forget(name string) error {
	unlock, err := s.lock()
	if err == nil {
		defer unlock()
		removeUnfinished(s.Imports)
		if err = os.Remove(s.declarationFile(name)); err == nil || errors.Is(err, os.ErrNotExist) {
			err = s.forgetImports(name, "")
		}
	}
	if err != nil {
		return fmt.Errorf("forget source %s: %w", name, err)
	}
	return nil
}
