package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Labels describe a party, as in site=ward, region=north. Operators set them, never the party. A
// study's members see them as far as a roster was chosen by them.
type Labels map[string]string

// mostLabels bounds the labels of one party.
const mostLabels = 16

// ParseLabels reads KEY=VALUE pairs.
func ParseLabels(pairs []string) (Labels, error) {
	l := Labels{}
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, fmt.Errorf("label %q: give KEY=VALUE, such as site=ward", p)
		}
		if had, twice := l[key]; twice && had != value {
			return nil, fmt.Errorf("label %s is given twice, as %s and as %s: a party has one of each", key, had, value)
		}
		l[key] = value
	}
	return l, l.Check()
}

// Check refuses labels that a plan, log or table would alter.
func (l Labels) Check() error {
	if len(l) > mostLabels {
		return fmt.Errorf("%d labels: at most %d are kept of a party", len(l), mostLabels)
	}
	for key, value := range l {
		for _, part := range []string{key, value} {
			if CheckName(part) != nil {
				return fmt.Errorf("label %q: give KEY=VALUE, each of 1 to 63 letters, digits, dots, dashes or underscores, a letter or digit first", key+"="+value)
			}
		}
	}
	return nil
}

// Have says whether these include all wanted labels.
func (l Labels) Have(wanted Labels) bool {
	for key, value := range wanted {
		if l[key] != value {
			return false
		}
	}
	return true
}

// String is KEY=VALUE, KEY=VALUE, by key.
func (l Labels) String() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(l)) {
		all = append(all, key+"="+l[key])
	}
	return strings.Join(all, ", ")
}
