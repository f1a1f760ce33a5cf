package terms

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"caucus/analyst/simulate"
	"caucus/study/kinds"
)

// Term is one key of a study file, for help texts, --set and the reference page.
type Term struct {
	// Key is the name in a study file, with a point between levels: epsilon, map.project,
	// simulate.targets.
	Key string
	// Type describes the value. Default is "" if there is no default, or if Help states the
	// default.
	Type, Default string
	// Help may have parts "VERB: text", set off by semicolons. caucus VERB --help shows such a part
	// alone.
	Help string

	of   reflect.Type
	file bool // the value is a file name, relative to the study file
	out  bool // Caucus writes this file
}

// Name returns the last part of the key. --set accepts it if no other term of the kind ends so.
func (t Term) Name() string { return t.Key[strings.LastIndex(t.Key, ".")+1:] }

// IsFile reports whether the value names a file that Caucus reads. Relative names are below the
// study file's folder.
func (t Term) IsFile() bool { return t.file }

// simulated has, for each kind, a function that makes the rehearsal terms with their defaults.
var simulated = map[string]func() Simulation{
	"classify": func() Simulation {
		return &simulate.ClassifyTerms{Terms: simulate.Terms{RecordTerms: once,
			PoolTerms: simulate.PoolTerms{PoolFraction: .25,
				PoolRows: 10_000}}, VoterTimeout: 10 * time.Minute}
	},
	"ratio": func() Simulation {
		return &simulate.RatioTerms{RecordTerms: once,
			PoolTerms: simulate.PoolTerms{PoolFraction: .1,
				PoolRows: 5000}, Targets: 20, TargetSize: 500}
	},
	"labels": func() Simulation {
		return &simulate.LabelsTerms{Terms: simulate.Terms{RecordTerms: once,
			PoolTerms: simulate.PoolTerms{PoolFraction: .1}}}
	},
	"reweigh": func() Simulation {
		return &simulate.ReweighTerms{RecordTerms: simulate.RecordTerms{Repeats: 10}, Share: .9}
	},
	"describe": func() Simulation { return new(simulate.DescribeTerms) },
	"survival": func() Simulation { return new(simulate.DescribeTerms) },
	"regress":  func() Simulation { return new(simulate.DescribeTerms) },
	"evaluate": func() Simulation {
		return &simulate.Terms{RecordTerms: once,
			PoolTerms: simulate.PoolTerms{PoolFraction: .05, PoolRows: 10_000}}
	},
}

var once = simulate.RecordTerms{Repeats: 1}

// Simulation holds the rehearsal terms of a kind.
type Simulation interface{ Common() simulate.Terms }

// simulation is the key of the rehearsal terms.
const simulation = "simulate"

// Of lists the terms of a kind: those of all kinds, its own, and its rehearsal terms.
func Of(kind string) ([]Term, error) {
	if _, err := kinds.FindKind(kind); err != nil {
		return nil, err
	}
	return slices.Clone(tables()[kind]), nil
}

// tables makes each kind's terms once, because a command line asks for them hundreds of times.
var tables = sync.OnceValue(func() map[string][]Term {
	all := map[string][]Term{}
	for _, kind := range kinds.Names() {
		k, err := kinds.FindKind(kind)
		if err != nil {
			panic(err) // impossible: Names lists the kind
		}
		table := termsOf(reflect.ValueOf(Study{}), "")
		if terms := k.Terms(); terms != nil {
			table = append(table, termsOf(reflect.ValueOf(terms).Elem(), kind+".")...)
		}
		all[kind] = append(table,
			termsOf(reflect.ValueOf(simulated[kind]()).Elem(), simulation+".")...)
	}
	return all
})

// termsOf lists the terms in a struct's fields. Non-zero fields of v are defaults.
func termsOf(v reflect.Value, prefix string) []Term {
	var out []Term
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		of := f.Type
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case strings.Contains(options, "inline"):
			out = append(out, termsOf(v.Field(i), prefix)...)
		case key == "" || key == "-":
		case f.Tag.Get("help") == "" && of.Kind() == reflect.Struct: // a group of terms
			out = append(out, termsOf(reflect.Zero(of), prefix+key+".")...)
		default:
			t := Term{Key: prefix + key, Type: words(of), Help: f.Tag.Get("help"),
				Default: f.Tag.Get("default"), of: of, file: f.Tag.Get("file") != "",
				out: f.Tag.Get("file") == "out"}
			if t.Default == "" && !v.Field(i).IsZero() && of.Kind() != reflect.Slice {
				t.Default = strings.TrimSuffix(fmt.Sprint(v.Field(i)), "0s")
			}
			out = append(out, t)
		}
	}
	return out
}

func words(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "time span"
	case t == reflect.TypeFor[time.Time]():
		return "date and time"
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array && t.Elem().Kind() != reflect.Uint8:
		return "list of " + words(t.Elem())
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		if t.PkgPath() != "" { // an enumeration, which a file gives by name
			return "text"
		}
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Struct:
		if t.NumField() > 0 && t.Field(0).Tag.Get("yaml") != "" {
			return "{" + strings.Join(keysOf(t), ", ") + "}"
		}
	}
	return "text"
}

func keysOf(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		keys = append(keys, key)
	}
	return keys
}

// Find returns a kind's term by its whole key or last part. Its error suggests the nearest key.
func Find(kind, name string) (Term, error) {
	if _, err := kinds.FindKind(kind); err != nil {
		return Term{}, err
	}
	table := tables()[kind]
	var found []Term
	for _, t := range table {
		switch {
		case t.Key == name:
			return t, nil
		case t.Name() == name:
			found = append(found, t)
		}
	}
	if len(found) > 1 { // prefer the kind's own terms and rehearsal terms to those of all kinds
		own := slices.DeleteFunc(slices.Clone(found), func(t Term) bool {
			return !strings.HasPrefix(t.Key, kind+".") && !strings.HasPrefix(t.Key, simulation+".")
		})
		if len(own) == 1 {
			found = own
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Term{}, unknown(kind, name, table)
	}
	return Term{}, fmt.Errorf("%s can be %s: write one of them whole", name, listed(found))
}

func listed(terms []Term) string {
	var keys []string
	for _, t := range terms {
		keys = append(keys, t.Key)
	}
	return strings.Join(keys, " or ")
}

func kindsWith(name string) []string {
	return slices.DeleteFunc(kinds.Names(), func(kind string) bool {
		return !slices.ContainsFunc(tables()[kind], func(t Term) bool {
			return t.Key == name || t.Name() == name
		})
	})
}

func unknown(kind, name string, table []Term) error {
	if others := kindsWith(name); len(others) > 0 {
		return fmt.Errorf("%s is a term of %s studies; this one is of kind %s", name, strings.Join(others, ", "), kind)
	}
	for _, t := range table {
		if strings.HasPrefix(t.Key, name+".") {
			return fmt.Errorf("%s has terms of its own: write %s=…", name, t.Key)
		}
	}
	if meant := nearest(name, table); meant != "" {
		return fmt.Errorf("there is no term %s: do you mean %s?", name, meant)
	}
	return fmt.Errorf("there is no term %s: docs/reference.md lists those of %s studies", name, kind)
}
