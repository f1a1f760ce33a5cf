package console

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Annotations of flags. OutputAnnotation marks a flag that names an output, and lists the names it
// accepts: endings, AcceptsStdout, AcceptsFolder. InputAnnotation marks a flag that names an input.
const (
	OutputAnnotation = "caucus_output_takes"
	InputAnnotation  = "caucus_input_file"

	AcceptsStdout = "-" // the flag takes - for stdout; the file is then the command's only document
	AcceptsFolder = "/" // the flag names a folder that the command makes
)

// IsStdout reports whether a name means the open file of stdout, as /dev/stdout does.
func IsStdout(name string) bool {
	return slices.Contains([]string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, name)
}

// MarkOutput marks a flag that names an output, and lists the names it accepts.
func MarkOutput(f *pflag.FlagSet, name string, takes ...string) {
	if err := f.SetAnnotation(name, OutputAnnotation, takes); err != nil {
		panic(err) // a bug: there is no such flag
	}
}

// MarkInputs marks flags that name input files. It is not for folders, because readFolder records
// the files opened there.
func MarkInputs(f *pflag.FlagSet, flags ...string) {
	for _, name := range flags {
		if err := f.SetAnnotation(name, InputAnnotation, nil); err != nil {
			panic(err) // a bug: there is no such flag
		}
	}
}

// CheckEnding refuses an ending that belongs to another format. Unknown endings, such as .bin,
// pass.
func CheckEnding(flag, name string, takes ...string) error {
	const known = " .csv .tsv .gz .zst .zip .xls .xlsx .parquet .json .jsonl .yaml .yml .html .htm .svg .png .jpg .jpeg .pdf .onnx .py .r .sql "
	endings := slices.DeleteFunc(slices.Clone(takes), func(t string) bool {
		return t == AcceptsStdout || t == AcceptsFolder
	})
	ending := filepath.Ext(name)
	same := func(e string) bool { return strings.EqualFold(e, ending) }
	if len(endings) == 0 || slices.ContainsFunc(endings, same) ||
		!strings.Contains(known, " "+strings.ToLower(ending)+" ") {
		return nil
	}
	return Usagef("--%s %s: this command writes no %s file: give a name that ends in %s", flag, name, ending, strings.Join(endings, " or "))
}

// given is a file's name and the flag that named the file, "" for an argument.
type given struct{ flag, name string }

// CheckOutputs runs before any work. It refuses an output that would overwrite an input or another
// output, that cannot be written, or whose name has another format's ending. It also records the
// inputs, which Write must spare.
func (c *Console) CheckOutputs(cmd *cobra.Command, args []string) error {
	var outputs []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, written := f.Annotations[OutputAnnotation]; written && f.Value.String() != "" {
			outputs = append(outputs, f)
		}
		if _, read := f.Annotations[InputAnnotation]; !read {
			return
		}
		all := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			all = list.GetSlice()
		}
		for _, name := range all {
			c.inputs = append(c.inputs, given{f.Name, name})
		}
	})
	// STUDY and NAME arguments name studies and members. A file with the same name is not an input.
	if !strings.Contains(cmd.Use, "STUDY") && !strings.Contains(cmd.Use, "NAME") {
		for _, name := range args {
			c.AddInput(name)
		}
	}
	for i, f := range outputs {
		name, takes := f.Value.String(), f.Annotations[OutputAnnotation]
		switch {
		case name == "-" && !slices.Contains(takes, AcceptsStdout):
			return Usagef("--%s -: this command prints its answer on stdout: name a file", f.Name)
		case c.JSON && f.Changed && (name == "-" || IsStdout(name)):
			return Usagef("--%s %s and --json both want stdout: name a file", f.Name, name)
		case name == "-" && f.DefValue == "": // without the flag, the output goes to stdout anyway
			if err := f.Value.Set(""); err != nil {
				return err
			}
		}
		if name == "-" || IsStdout(name) {
			continue
		}
		for _, other := range outputs[:i] {
			if same(name, other.Value.String()) {
				return Usagef("--%s and --%s both name %s: give each a file of its own", other.Name, f.Name, name)
			}
		}
		if err := errors.Join(c.CheckOverwrite(name), CheckEnding(f.Name, name,
			takes...)); err != nil {
			return err
		}
		if err := checkPlace(name, slices.Contains(takes, AcceptsFolder)); err != nil {
			return Usagef("--%s %s: %w", f.Name, name, err)
		}
	}
	return nil
}

// checkPlace refuses a name at which no file, or no folder, can be written.
func checkPlace(name string, folder bool) error {
	info, err := os.Stat(name)
	switch {
	case folder && err == nil && !info.IsDir():
		return errors.New("it is a file: name a folder")
	case folder:
		return nil
	case err == nil && info.IsDir():
		return errors.New("it is a folder: name a file")
	case err == nil && !info.Mode().IsRegular():
		return nil
	case err == nil:
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return errors.Unwrap(err)
		}
		return file.Close()
	}
	if _, err := os.Lstat(name); err == nil {
		return errors.New("it is a link to nothing: name a file")
	}
	in := filepath.Dir(name)
	if info, err := os.Stat(in); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s", in)
	}
	// Try a name as long as that of the temporary file that write makes.
	file, err := os.CreateTemp(in, "."+filepath.Base(name)+"000000000*")
	if err != nil {
		return fmt.Errorf("no file can be made in %s: %w", in, errors.Unwrap(err))
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// AddInput records an input file that no flag names.
func (c *Console) AddInput(name string) { c.inputs = append(c.inputs, given{name: name}) }

// AddDaemonFolder records a daemon's folder that the command reads. Outputs must not be written
// beside keys and ledger.
func (c *Console) AddDaemonFolder(dir string) { c.owned = append(c.owned, dir) }

// CheckOverwrite refuses a name that leads to an input file, also through a link, or into a
// daemon's folder.
func (c *Console) CheckOverwrite(name string) error {
	for _, dir := range c.owned {
		if in, err := filepath.Rel(where(dir), where(name)); err == nil && filepath.IsLocal(in) {
			return Usagef("%s would be written into %s, a daemon's own folder: give a name elsewhere", name, dir)
		}
	}
	for _, in := range c.inputs {
		if info, err := os.Stat(in.name); err != nil || !info.Mode().IsRegular() ||
			!same(in.name, name) {
			continue
		}
		if in.flag == "" {
			return Usagef("%s would be written over what this command reads: give another name", name)
		}
		return Usagef("%s would be written over what --%s names: give another name", name, in.flag)
	}
	return nil
}

// same reports whether two names mean the same file, which need not exist.
func same(a, b string) bool {
	x, err := os.Stat(a)
	y, no := os.Stat(b)
	return where(a) == where(b) || err == nil && no == nil && os.SameFile(x, y)
}

// where returns a file's absolute name without links; the file need not exist.
func where(name string) string {
	at, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	if real, err := filepath.EvalSymlinks(at); err == nil || at == filepath.Dir(at) {
		return real
	}
	return filepath.Join(where(filepath.Dir(at)), filepath.Base(at))
}

// readFolder is a folder whose files become inputs of the command when they are opened.
type readFolder struct {
	fs.FS
	c   *Console
	dir string
}

// InputFolder returns a folder whose files become inputs of the command when they are opened.
func (c *Console) InputFolder(dir string) fs.FS { return readFolder{os.DirFS(dir), c, dir} }

func (r readFolder) Open(name string) (fs.File, error) {
	r.c.AddInput(filepath.Join(r.dir, filepath.FromSlash(name)))
	return r.FS.Open(name)
}

// Write writes a file completely or not at all. It replaces an existing file, unless the command
// reads that file. If a file cannot be replaced, because it is mounted or its folder is not
// writable, Write overwrites it. Devices and pipes are written directly.
func (c *Console) Write(name string, write func(io.Writer) error) error {
	return c.writeNew(name, newFileMode, write)
}

// WriteRecords is Write for rows of records or predictions: a new file is its owner's alone.
func (c *Console) WriteRecords(name string, write func(io.Writer) error) error {
	return c.writeNew(name, 0o600, write)
}

func (c *Console) writeNew(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if err := c.CheckOverwrite(name); err != nil {
		return err
	}
	if IsStdout(name) {
		return write(c.Out)
	}
	info, err := os.Stat(name)
	there := err == nil
	if !there || info.Mode().IsRegular() {
		err = c.replace(where(name), info, mode, write)
	}
	held := func(is error) bool { return errors.Is(err, is) }
	if there && (!info.Mode().IsRegular() ||
		slices.ContainsFunc([]error{fs.ErrPermission, fs.ErrNotExist, syscall.EBUSY, syscall.EROFS},
			held)) {
		var all bytes.Buffer
		if err = write(&all); err == nil {
			c.writing.Lock()
			defer c.writing.Unlock()
			err = os.WriteFile(name, all.Bytes(), mode)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

const newFileMode = 0o644 // before the umask; an existing file keeps its mode

// replace writes a new file beside name and then renames it to name. old is the existing file, nil
// if none.
func (c *Console) replace(
	name string, old fs.FileInfo, mode fs.FileMode, write func(io.Writer) error,
) error {
	beside := fmt.Sprintf(".%s%019d", filepath.Base(name), rand.Int64())
	c.writing.Lock()
	file, err := os.OpenFile(filepath.Join(filepath.Dir(name), beside),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		c.unfinished = file.Name()
	}
	c.writing.Unlock()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<16)
	if err = write(out); err == nil {
		err = out.Flush()
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err == nil && old != nil {
		err = file.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	c.unfinished = ""
	return err
}

// stop removes an unfinished file. It keeps the lock, so that no other file is begun before the
// process ends.
func (c *Console) stop() {
	c.writing.Lock()
	if c.unfinished != "" {
		os.Remove(c.unfinished)
	}
}

// WriteText writes a text as Write does: to stdout for "-", else to a file, whole or not at all.
func (c *Console) WriteText(name string, text []byte) error {
	return c.Write(name, func(w io.Writer) error { _, err := w.Write(text); return err })
}
