{{/* The start of all names. The release's name is no part of it: there is one Nodewright in a cluster, and a second release is
refused for the objects that it would share with the first. */}}
{{- define "nodewright.name" -}}
{{ .Values.fullnameOverride | default "nodewright" }}
{{- end }}

{{- define "nodewright.relay" -}}
{{ include "nodewright.name" . }}-relay
{{- end }}

{{- define "nodewright.relayServiceAccount" -}}
{{ .Values.serviceAccount.name | default (include "nodewright.relay" .) }}
{{- end }}

{{/* Who the Functions app is to the API server. */}}
{{- define "nodewright.functionsUser" -}}
{{ required "functions.objectId is empty: give the object id of the Functions app's managed identity (az identity show --query principalId)" .Values.functions.objectId | lower }}
{{- end }}

{{/* Labels and annotations that every object has, below `metadata`. */}}
{{- define "nodewright.metadata" -}}
labels:
  app.kubernetes.io/part-of: nodewright
  {{- with .Values.additionalLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* As above, for objects of the relay. */}}
{{- define "nodewright.relayMetadata" -}}
labels:
  {{- include "nodewright.relayLabels" . | nindent 2 }}
  {{- with .Values.additionalLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "nodewright.relayLabels" -}}
app.kubernetes.io/part-of: nodewright
{{ include "nodewright.relaySelector" . }}
{{- end }}

{{- define "nodewright.relaySelector" -}}
app.kubernetes.io/name: {{ include "nodewright.relay" . }}
{{- end }}

{{- define "nodewright.boundToFunctions" -}}
subjects:
  - { apiGroup: rbac.authorization.k8s.io, kind: User, name: {{ include "nodewright.functionsUser" . }} }
{{- end }}

{{- define "nodewright.boundToRelay" -}}
subjects:
  - { kind: ServiceAccount, name: {{ include "nodewright.relayServiceAccount" . }}, namespace: {{ .Release.Namespace }} }
{{- end }}

{{- define "nodewright.relayImage" -}}
{{- $repository := required "image.repository is empty: name the image that you built from relay/Dockerfile, such as myregistry.azurecr.io/nodewright-relay" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* off, audit or on. YAML reads on and off as booleans unless they are quoted. */}}
{{- define "nodewright.podRequestsMode" -}}
{{- $mode := .Values.podRequests.mode | toString -}}
{{- if eq $mode "true" }}on{{ else if eq $mode "false" }}off{{ else }}{{ $mode }}{{ end -}}
{{- end }}
