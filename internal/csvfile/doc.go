// Package csvfile writes comma-separated text. All such text of the program leaves through it, for
// programs (New), for a person who may open it in a spreadsheet (NewRefusing), or with records of
// others (NewEscaping): a spreadsheet computes a cell that begins with a sign such as =, and a
// formula can send the sheet's other cells away, or start a program.
package csvfile
