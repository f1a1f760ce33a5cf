package export

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Format is a language for a model, for a table of numbers, or for both; the other function is then
// nil.
type Format struct {
	Extension string // the ending of a file's name
	Binary    bool   // a binary file is never printed on a screen
	Write     func(Model, Table) ([]byte, error)
	Frame     func(Frame) ([]byte, error)
}

var formats = map[string]Format{
	"csv":  {Extension: ".csv", Frame: Frame.CSV},
	"json": {Extension: ".json", Write: func(m Model, _ Table) ([]byte, error) { return m.JSON() }},
	"onnx": {Extension: ".onnx", Binary: true, Write: func(m Model, _ Table) ([]byte, error) { return m.ONNX() }},
	"r":    {Extension: ".R", Write: func(m Model, _ Table) ([]byte, error) { return m.R() }, Frame: Frame.R},
	"sql":  {Extension: ".sql", Write: Model.SQL},
}

// FormatNames lists the formats that FindFormat takes, sorted: csv, json, onnx, r, sql.
func FormatNames() []string { return slices.Sorted(maps.Keys(formats)) }

// FindFormat finds a format by its name or, if the name is empty, by a file's ending.
func FindFormat(name, file string) (Format, string, error) {
	if name == "" {
		for _, n := range FormatNames() {
			if strings.EqualFold(filepath.Ext(file), formats[n].Extension) {
				name = n
			}
		}
	}
	f, ok := formats[name]
	if !ok {
		if name != "" {
			name = " (" + name + " is none)"
		}
		return Format{}, "", fmt.Errorf("say which language with --to%s: %s", name,
			strings.Join(FormatNames(), ", "))
	}
	return f, name, nil
}
