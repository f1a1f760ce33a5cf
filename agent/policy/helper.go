package policy

import (
	"errors"
	"fmt"

	"caucus/aggregator"
	"caucus/protocol"
)

// Helper is the second server, run by another organisation than the coordinator's, that this
// site trusts not to work together with it. Its two keys are what "caucus helper init" printed
// there. Get them from that organisation itself, on paper or by telephone: what the coordinator
// says of them proves nothing, because one that made them up would be both servers.
type Helper struct {
	// Name says who runs it, for the persons here who approve.
	Name string `yaml:"name"`
	// Signing is the key that it signs with, 64 hexadecimal digits.
	Signing protocol.SignerKey `yaml:"signing"`
	// Sealing is the pin of the key that what it gets is sealed to, 64 hexadecimal digits. A
	// helper whose files were put back to an older state has another one afterwards, and tells
	// each site.
	Sealing protocol.KeyPin `yaml:"sealing"`
}

// getKeys says where a helper's keys come from.
const getKeys = "get its two keys from the organisation that runs it (caucus helper init printed them there), not from the coordinator"

func (h Helper) Pins() aggregator.Pins {
	return aggregator.Pins{Signing: h.Signing, Sealing: h.Sealing}
}

func (h Helper) Named() bool { return h.Pins() != aggregator.Pins{} }

// Words name it for people.
func (h Helper) Words() string {
	name := h.Name
	if name == "" {
		name = "a helper without a name"
	}
	return fmt.Sprintf("%s, signing key %s…, sealing key %s…", name, h.Signing.String()[:16], h.Sealing.String()[:16])
}

// validate says which field is wrong and what to do. needed: studies may need a helper.
func (h Helper) validate(needed bool) error {
	switch none := (aggregator.Pins{}); {
	case !h.Named() && h.Name == "" && !needed:
		return nil
	case !h.Named():
		return fmt.Errorf("signing, sealing: noise by aggregators needs a helper that this site knows: %s", getKeys)
	case h.Signing == none.Signing:
		return errors.New("signing: the key that the helper signs with is missing: " + getKeys)
	case h.Sealing == none.Sealing:
		return errors.New("sealing: the pin of the helper's sealing key is missing: " + getKeys)
	case h.Signing == protocol.SignerKey(h.Sealing):
		return errors.New("sealing: it is the same as signing: the helper has a number for each: " + getKeys)
	}
	return nil
}

// ApartFrom refuses a helper that is the coordinator, by the keys that this site knows it by.
func (h Helper) ApartFrom(coordinator protocol.Keys) error {
	if h.Named() && coordinator.Hold(h.Signing) {
		return errors.New("policy: helper: signing: this is the coordinator's own key: a coordinator that is its own helper sees what this site sends; " + getKeys)
	}
	return nil
}
