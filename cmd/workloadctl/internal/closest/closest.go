// Package closest finds the word that was probably meant. It knows nothing of what the words are for.
package closest

import "strings"

// Word returns the candidate that a word is most likely a misspelling of, the first one of several, and false if none is close:
// a third of its letters may differ. Upper and lower case count as the same.
func Word(word string, candidates []string) (found string, ok bool) {
	return Within(min(max(1, len(word)/3), len(word)-1), word, candidates)
}

// Within is Word with the number of letters that may differ.
func Within(limit int, word string, candidates []string) (found string, ok bool) {
	for _, candidate := range candidates {
		if n := distance(strings.ToLower(word), strings.ToLower(candidate), limit); n <= limit {
			found, ok, limit = candidate, true, n-1
		}
	}
	return found, ok
}

// distance counts the letters to insert, remove, replace or swap with the next one to make a out of b. Beyond the limit any larger
// number may come back.
func distance(a, b string, limit int) int {
	if max(len(a), len(b))-min(len(a), len(b)) > limit {
		return limit + 1
	}
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = last[j]
			if a[i] != b[j] {
				row[j+1] = 1 + min(last[j], last[j+1], row[j])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
