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
	Ending string // the ending of a file's name
	Binary bool   // a binary file is never printed on a screen
	Write  func(Model, Table) ([]byte, error)
	Frame  func(Frame) ([]byte, error)
}

var formats = map[string]Format{
	"csv":  {Ending: ".csv", Frame: Frame.CSV},
	"json": {Ending: ".json", Write: func(m Model, _ Table) ([]byte, error) { return m.JSON() }},
	"onnx": {Ending: ".onnx", Binary: true, Write: func(m Model, _ Table) ([]byte, error) { return m.ONNX() }},
	"r":    {Ending: ".R", Write: func(m Model, _ Table) ([]byte, error) { return m.R() }, Frame: Frame.R},
	"sql":  {Ending: ".sql", Write: Model.SQL},
}

// Names lists the formats that Named takes, sorted: csv, json, onnx, r, sql.
func Names() []string { return slices.Sorted(maps.Keys(formats)) }

// Named finds a format by its name or, if the name is empty, by a file's ending.
func Named(name, file string) (Format, string, error) {
	if name == "" {
		for _, n := range Names() {
			if strings.EqualFold(filepath.Ext(file), formats[n].Ending) {
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
			strings.Join(Names(), ", "))
	}
	return f, name, nil
}
