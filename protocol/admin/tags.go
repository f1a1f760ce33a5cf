package admin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"caucus/protocol"
)

// Tags group parties, for example site=ward, region=north. An operator sets them, never the party.
// A roster that is chosen by tags reveals them to the study's members.
type Tags map[string]string

const mostTags = 16

// ParseTags reads KEY=VALUE pairs.
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

// Check refuses tags that a plan, a log or a table could not contain unchanged.
func (t Tags) Check() error {
	if len(t) > mostTags {
		return fmt.Errorf("%d tags: at most %d are kept of a party", len(t), mostTags)
	}
	for key, value := range t {
		for _, part := range []string{key, value} {
			if protocol.CheckName(part) != nil {
				return fmt.Errorf("tag %q: give KEY=VALUE, each of 1 to 63 letters, digits, dots, dashes or underscores, a letter or digit first", key+"="+value)
			}
		}
	}
	return nil
}

// Include reports whether t has each wanted tag with the wanted value. Nothing wanted is always
// had.
func (t Tags) Include(wanted Tags) bool {
	for key, value := range wanted {
		if t[key] != value {
			return false
		}
	}
	return true
}

// String returns for example "region=north, site=ward", sorted by key.
func (t Tags) String() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(t)) {
		all = append(all, key+"="+t[key])
	}
	return strings.Join(all, ", ")
}
