package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"caucus/internal/yamlfile"
	"caucus/protocol"
	"caucus/study"
)

// rosterGroup is a roster by labels: who has all of them when the study is created.
type rosterGroup struct {
	Labels protocol.Labels `yaml:"labels"`
}

// takeGroup takes a roster by labels out of a study file, nil where the file names
// parties, or none.
func takeGroup(file *yamlfile.Document) (protocol.Labels, error) {
	n := file.Find("roster")
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	var g rosterGroup
	err := yamlfile.DecodeNode(n, &g)
	if err == nil && len(g.Labels) == 0 {
		err = errors.New("name parties, as in [st-mary, st-john], or give labels that they have, as in {labels: {region: north}}")
	}
	if err == nil {
		err = g.Labels.Check()
	}
	if err != nil {
		return nil, file.Locate(fmt.Errorf("roster: %w", err))
	}
	file.Remove("roster")
	return g.Labels, nil
}

// roster is who of the members may contribute: the enrolled parties that have all of
// some labels, where there are any. What it gives is written into the plan by name, so
// nothing that happens to labels later changes it.
func (o *operator) roster(ctx context.Context, client *protocol.Client, wanted protocol.Labels) ([]study.PartyID, error) {
	members, err := client.Members(ctx)
	if err != nil {
		return nil, err
	}
	var roster []study.PartyID
	var parties int
	var waiting []string
	for _, m := range members {
		if m.Role != protocol.RoleParty {
			continue
		}
		if m.Status == protocol.StatusEnrolled {
			parties++
		}
		switch {
		case !m.Labels.Have(wanted):
		case m.Status == protocol.StatusEnrolled:
			roster = append(roster, study.PartyID(m.Name))
		case m.Status == protocol.StatusInvited:
			waiting = append(waiting, m.Name)
		}
	}
	switch {
	case parties == 0:
		return nil, errors.New("no party is enrolled yet: invite some with caucus party invite, or name a --roster")
	case len(roster) == 0:
		return nil, fmt.Errorf("roster: none of %d enrolled parties is labelled %s: caucus party list shows who has which labels, caucus party label gives some", parties, wanted)
	case len(wanted) > 0:
		o.note("roster: the plan names the %d enrolled parties that are labelled %s now: %s", len(roster), wanted, few(roster))
		if len(waiting) > 0 {
			o.note("note: labelled so too, but not enrolled yet, and so not on the roster: %s", few(waiting))
		}
	}
	return roster, nil
}

// few are the first of many names.
func few[T ~string](names []T) string {
	const most = 12
	var some []string
	for _, n := range names[:min(most, len(names))] {
		some = append(some, string(n))
	}
	text := strings.Join(some, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
