// Package command is about a classifier or scorer that is another program, in any language.
//
// To classify, the program gets the records and the rows to vote on as two CSV files and prints one
// class per line (Program.Vote defines the format). To score, it gets the rows as one CSV file and
// prints one number per line (Program.Score).
//
// It guarantees:
//
//   - A program ends: at its time limit its whole process group is killed and its folder removed.
//   - It gets only these files and, from the environment, the paths of programs, the home folder
//     and the temporary folder: no other variable, no open file.
//   - An answer is exactly one known class, or one number in [0,1], for each row. Anything else is
//     an error that says what is wrong.
//
// The program is not confined: it runs under the caller's account and can read whatever the account
// can. A process that leaves its group on purpose survives. Only Linux enforces the memory limit of
// each process.
package command
