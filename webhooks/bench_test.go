package webhooks

import (
	"encoding/json"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// BenchmarkReview is the cost of one webhook alone, HTTP connection excluded: an update that changes replicas.
func BenchmarkReview(b *testing.B) {
	compiled := rules(b)
	old := base(b, webApp.WithVersion("v1"), full)
	object := merged(b, string(old), `{"spec": {"replicas": 3}}`)
	for _, version := range versions {
		review, err := json.Marshal(admissionv1.AdmissionReview{Request: requestFor(webApp, version, object, old)})
		if err != nil {
			b.Fatal(err)
		}
		for name, h := range map[string]handler{
			"mutate":   {name: "bench", review: mutate},
			"validate": {name: "bench", review: compiled.review},
		} {
			b.Run(name+"/"+version, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if answer := post(b, h, "application/json", string(review)); answer.Code != http.StatusOK {
						b.Fatal(answer.Body)
					}
				}
			})
		}
	}
}
