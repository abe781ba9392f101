/** Pods of `app` may differ by at most `maxSkew` between zones. */
export function spreadOverZones(app: string, maxSkew: number): object {
  return {
    topologySpreadConstraints: [
      {
        maxSkew,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app } },
      },
    ],
  };
}

/** What containers of the default namespace ask for when they say nothing. */
export function limitRange(cpu: string, memory: string): object {
  return {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'defaults', namespace: 'default' },
    spec: { limits: [{ type: 'Container', default: { cpu, memory }, defaultRequest: { cpu, memory } }] },
  };
}

const container = { name: 'pause', image: 'mcr.microsoft.com/oss/kubernetes/pause:3.9' };

/** A daemon that asks for nothing itself. */
export function daemonSet(name: string): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'default' },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { terminationGracePeriodSeconds: 0, containers: [container] },
      },
    },
  };
}

/** A pod without its name. */
export interface PodTemplate {
  readonly metadata: object;
  readonly spec: object;
}

/** A small pod with labels or annotations by which it says how it behaves. */
export function podTemplate(metadata: object): PodTemplate {
  const resources = { requests: { cpu: '100m', memory: '64Mi' } };
  return { metadata, spec: { terminationGracePeriodSeconds: 30, containers: [{ ...container, resources }] } };
}

/** A pod without an owner. */
export function pod(name: string, template: PodTemplate): object {
  return { apiVersion: 'v1', kind: 'Pod', ...template, metadata: { ...template.metadata, name, namespace: 'default' } };
}
