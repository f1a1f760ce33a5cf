package describe
