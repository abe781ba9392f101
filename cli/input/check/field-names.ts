/**
 * A part of a workload's or pod's manifest: the names of its fields, and which of them hold parts that are listed too.
 */
export interface ManifestPart {
  /** Separated by blanks. */
  readonly names: string;
  readonly inside: Readonly<Record<string, string>>;
}

/** Fields by the name of their type in the API, as far as they bear on where pods go. Source: Kubernetes API 1.36. */
export const manifestParts: Readonly<Record<string, ManifestPart>> = {
  DeploymentSpec: {
    names: 'minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit selector strategy template',
    inside: { selector: 'LabelSelector', template: 'PodTemplateSpec' },
  },
  ReplicaSetSpec: {
    names: 'minReadySeconds replicas selector template',
    inside: { selector: 'LabelSelector', template: 'PodTemplateSpec' },
  },
  StatefulSetSpec: {
    names:
      'minReadySeconds ordinals persistentVolumeClaimRetentionPolicy podManagementPolicy replicas revisionHistoryLimit selector serviceName template updateStrategy volumeClaimTemplates',
    inside: { selector: 'LabelSelector', template: 'PodTemplateSpec' },
  },
  DaemonSetSpec: {
    names: 'minReadySeconds revisionHistoryLimit selector template updateStrategy',
    inside: { selector: 'LabelSelector', template: 'PodTemplateSpec' },
  },
  JobSpec: {
    names:
      'activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector maxFailedIndexes parallelism podFailurePolicy podReplacementPolicy selector successPolicy suspend template ttlSecondsAfterFinished',
    inside: { selector: 'LabelSelector', template: 'PodTemplateSpec' },
  },
  CronJobSpec: {
    names:
      'concurrencyPolicy failedJobsHistoryLimit jobTemplate schedule startingDeadlineSeconds successfulJobsHistoryLimit suspend timeZone',
    inside: { jobTemplate: 'JobTemplateSpec' },
  },
  ReplicationControllerSpec: {
    names: 'minReadySeconds replicas selector template',
    inside: { template: 'PodTemplateSpec' },
  },
  PodSpec: {
    names:
      'activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes',
    inside: {
      affinity: 'Affinity',
      containers: 'Container',
      initContainers: 'Container',
      resources: 'ResourceRequirements',
      tolerations: 'Toleration',
      topologySpreadConstraints: 'TopologySpreadConstraint',
    },
  },
  LabelSelector: {
    names: 'matchExpressions matchLabels',
    inside: { matchExpressions: 'LabelSelectorRequirement' },
  },
  PodTemplateSpec: {
    names: 'metadata spec',
    inside: { spec: 'PodSpec' },
  },
  JobTemplateSpec: {
    names: 'metadata spec',
    inside: { spec: 'JobSpec' },
  },
  Affinity: {
    names: 'nodeAffinity podAffinity podAntiAffinity',
    inside: { nodeAffinity: 'NodeAffinity', podAffinity: 'PodAffinity', podAntiAffinity: 'PodAntiAffinity' },
  },
  Container: {
    names:
      'args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir',
    inside: { resources: 'ResourceRequirements' },
  },
  ResourceRequirements: {
    names: 'claims limits requests',
    inside: {},
  },
  Toleration: {
    names: 'effect key operator tolerationSeconds value',
    inside: {},
  },
  TopologySpreadConstraint: {
    names:
      'labelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy topologyKey whenUnsatisfiable',
    inside: { labelSelector: 'LabelSelector' },
  },
  LabelSelectorRequirement: {
    names: 'key operator values',
    inside: {},
  },
  NodeAffinity: {
    names: 'preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution',
    inside: {
      preferredDuringSchedulingIgnoredDuringExecution: 'PreferredSchedulingTerm',
      requiredDuringSchedulingIgnoredDuringExecution: 'NodeSelector',
    },
  },
  PodAffinity: {
    names: 'preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution',
    inside: {
      preferredDuringSchedulingIgnoredDuringExecution: 'WeightedPodAffinityTerm',
      requiredDuringSchedulingIgnoredDuringExecution: 'PodAffinityTerm',
    },
  },
  PodAntiAffinity: {
    names: 'preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution',
    inside: {
      preferredDuringSchedulingIgnoredDuringExecution: 'WeightedPodAffinityTerm',
      requiredDuringSchedulingIgnoredDuringExecution: 'PodAffinityTerm',
    },
  },
  PreferredSchedulingTerm: {
    names: 'preference weight',
    inside: { preference: 'NodeSelectorTerm' },
  },
  NodeSelector: {
    names: 'nodeSelectorTerms',
    inside: { nodeSelectorTerms: 'NodeSelectorTerm' },
  },
  WeightedPodAffinityTerm: {
    names: 'podAffinityTerm weight',
    inside: { podAffinityTerm: 'PodAffinityTerm' },
  },
  PodAffinityTerm: {
    names: 'labelSelector matchLabelKeys mismatchLabelKeys namespaceSelector namespaces topologyKey',
    inside: { labelSelector: 'LabelSelector', namespaceSelector: 'LabelSelector' },
  },
  NodeSelectorTerm: {
    names: 'matchExpressions matchFields',
    inside: { matchExpressions: 'NodeSelectorRequirement', matchFields: 'NodeSelectorRequirement' },
  },
  NodeSelectorRequirement: {
    names: 'key operator values',
    inside: {},
  },
};

/** The type of a kind's spec. */
export const specPart: Readonly<Record<string, string>> = {
  Pod: 'PodSpec',
  Deployment: 'DeploymentSpec',
  ReplicaSet: 'ReplicaSetSpec',
  StatefulSet: 'StatefulSetSpec',
  DaemonSet: 'DaemonSetSpec',
  ReplicationController: 'ReplicationControllerSpec',
  Job: 'JobSpec',
  CronJob: 'CronJobSpec',
  PodTemplate: 'PodTemplateSpec',
};
