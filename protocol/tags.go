package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tags say what a party is one of, as in site=ward, region=north: an operator gives
// them, never the party itself. They are public among a study's members as far as a
// roster was chosen by them.
type Tags map[string]string

// mostTags bounds the tags of one party.
const mostTags = 16

// ParseTags reads KEY=VALUE, one each.
func ParseTags(pairs []string) (Tags, error) {
	t := Tags{}
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, fmt.Errorf("tag %q: give KEY=VALUE, such as site=ward", p)
		}
		if had, twice := t[key]; twice && had != value {
			return nil, fmt.Errorf("tag %s is given twice, as %s and as %s: a party has one of each", key, had, value)
		}
		t[key] = value
	}
	return t, t.Check()
}

// Check refuses tags that would not be the same in a plan, a log and a table.
func (t Tags) Check() error {
	if len(t) > mostTags {
		return fmt.Errorf("%d tags: at most %d are kept of a party", len(t), mostTags)
	}
	for key, value := range t {
		for _, part := range []string{key, value} {
			if CheckName(part) != nil {
				return fmt.Errorf("tag %q: give KEY=VALUE, each of 1 to 63 letters, digits, dots, dashes or underscores, a letter or digit first", key+"="+value)
			}
		}
	}
	return nil
}

// Have says whether all of some tags are among these.
func (t Tags) Have(wanted Tags) bool {
	for key, value := range wanted {
		if t[key] != value {
			return false
		}
	}
	return true
}

// String is KEY=VALUE, KEY=VALUE, by key.
func (t Tags) String() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(t)) {
		all = append(all, key+"="+t[key])
	}
	return strings.Join(all, ", ")
}
