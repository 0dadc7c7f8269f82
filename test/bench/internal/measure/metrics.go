package measure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Samples are the lines of a metrics endpoint.
type Samples []string

// Scrape reads a metrics endpoint once.
func Scrape(ctx context.Context, url string) (Samples, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scraping %s: %s", url, response.Status)
	}
	return strings.Split(string(body), "\n"), nil
}

// Sum is the sum of the series that begin so. None is an error: it may be a name that is no more.
func (s Samples) Sum(prefix string) (float64, error) {
	sum, found := 0.0, false
	for _, line := range s {
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", line, err)
		}
		sum, found = sum+value, true
	}
	if !found {
		return 0, fmt.Errorf("no metric begins with %s", prefix)
	}
	return sum, nil
}
