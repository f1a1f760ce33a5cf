package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/internal/yamlfile"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
	"caucus/study/evaluate"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds/results"
)

// readModel reads the model that an evaluate study judges. The file is a release, or a list of a
// linear model's coefficients.
func readModel(name string, schema dataset.Schema) (*evaluate.Model, error) {
	m, err := modelIn(name, schema)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", input.PrefixFileName(name, err))
	}
	return m, nil
}

func modelIn(name string, schema dataset.Schema) (*evaluate.Model, error) {
	text, err := input.ReadWhole(name)
	switch json := bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")); {
	case err != nil:
		return nil, err
	case isExported(text):
		return nil, errors.New("a release's export: name the release itself")
	case json: // a release
		r, _, err := usableRelease(name)
		if err != nil {
			return nil, err
		}
		return judged.ModelOf(r, schema)
	}
	var c judged.Coefficients
	file, err := yamlfile.Parse(name, text)
	if err == nil {
		err = file.Decode(&c)
	}
	if err != nil {
		return nil, err
	}
	return c.Model(schema)
}

func isExported(text []byte) bool {
	var of struct {
		Form *int `json:"caucus_model"`
	}
	return json.Unmarshal(text, &of) == nil && of.Form != nil
}

// recalibrated applies a calibration line to the classifier of release r. The line comes from an
// evaluation's release, in the file called name. Use the result at once and do not store it,
// because r's signature does not cover it. about describes the line and the evaluation's guarantee.
// The result's warnings contain about.
func recalibrated(r study.Release, name string) (out study.Release, about []string, err error) {
	by, p, err := usableRelease(name)
	if err != nil {
		return r, nil, err
	}
	model, err := judged.RecalibrateRelease(r, by)
	if err != nil {
		return r, nil, fmt.Errorf("%s: %w", name, err)
	}
	line := model.Calibration
	said := fmt.Sprintf("recalibrated by study %s: slope %.3f (95 %% %.3f to %.3f), intercept %.3f; plan %s", p.Name, line.Slope, line.Low, line.High, line.Intercept[0], by.PlanHash)
	also := fmt.Sprintf("the numbers rest on that study's release too: what it may tell (%s) adds to what the classifier's may", guaranteeOf(p))
	if p.Simulated {
		also = "that study was simulated: its noise protected nobody"
	}
	about = []string{said + "; the release itself is as it was signed", also}
	warnings := slices.DeleteFunc(slices.Clone(r.Result.Warnings), func(w string) bool {
		return strings.HasPrefix(w, fitted.NotProbabilities)
	})
	r.Result, err = withClassifier(r, model, append(warnings, about...))
	return r, about, err
}

// withClassifier returns a release's result with another classifier and other warnings, and without
// numbers about the old classifier.
func withClassifier(r study.Release, c classifier.Classifier, warnings []string) (study.Result,
	error) {
	fail := func(err error) (study.Result, error) {
		return r.Result, fmt.Errorf("recalibrate: %w", err)
	}
	var body map[string]any
	if err := json.Unmarshal(r.Result.Body, &body); err != nil {
		return fail(err)
	}
	body["classifier"] = c
	for _, of := range []string{"coefficients", "slope_error"} {
		delete(body, of)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return fail(err)
	}
	kind, err := results.FindResults(r.Kind)
	if err != nil {
		return fail(err)
	}
	typed := kind.Body()
	if err := json.Unmarshal(text, typed); err != nil {
		return fail(err)
	}
	return study.NewResult(typed, warnings)
}
