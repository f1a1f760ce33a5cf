package yamlfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// Config is a configuration. Validate returns an error that says which field is wrong and what to
// do.
type Config interface{ Validate() error }

// DecodeConfig reads a document, which each rule must accept, over the defaults and validates the
// result.
func DecodeConfig[C Config](d *Document, defaults C, rules ...func(*Document) error) (C, error) {
	var none C
	for _, rule := range rules {
		if err := rule(d); err != nil {
			return none, err
		}
	}
	if err := d.Decode(&defaults); err != nil {
		return none, err
	}
	return defaults, d.AddPosition(defaults.Validate())
}

// ParseConfig is DecodeConfig for a text.
func ParseConfig[C Config](text []byte, defaults C, rules ...func(*Document) error) (C, error) {
	d, err := Parse("", text)
	if err != nil {
		return defaults, err
	}
	return DecodeConfig(d, defaults, rules...)
}

// ReadConfig is DecodeConfig for a file. The returned document can locate later errors.
func ReadConfig[C Config](path string, defaults C, rules ...func(*Document) error) (C, *Document,
	error) {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return defaults, nil, fmt.Errorf("%s: it is empty: write it, or restore it from a backup of its folder", path)
	}
	d, err := Read(path)
	if err != nil {
		return defaults, nil, err
	}
	c, err := DecodeConfig(d, defaults, rules...)
	return c, d, err
}

// ResolvePath resolves a path in a configuration: relative paths start at the configuration's
// folder.
func ResolvePath(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
