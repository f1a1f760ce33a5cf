// Package learned is about the result of a labels study: it fits the classifier to the records that
// parties sent, corrects for the noise on their labels, and reads and explains a release, and
// says how many labels a study needs. No party needs it; package labels is a party's half.
package learned
