import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from '../../../../sandbox/kubernetes/client/objects.ts';
import { hostPorts, podRequests, portsConflict } from '../../../../sandbox/kubernetes/pod-requests.ts';

function pod(spec: Partial<PodSpec>): Pod {
  const metadata = { name: 'p', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-11-21T00:00:00Z' };
  return { metadata, spec: { containers: [], ...spec } };
}

function container(cpu: string, restartPolicy?: string): Container {
  const resources = { requests: { cpu } };
  return restartPolicy === undefined ? { name: 'c', resources } : { name: 'c', resources, restartPolicy };
}

describe("a pod's requests", () => {
  it('are those of its containers together', () => {
    expect(podRequests(pod({ containers: [container('1'), container('500m')] }))).toStrictEqual({
      cpu: 1_500,
      pods: 1,
    });
  });

  it('are those of the largest init container where that is more', () => {
    const spec = { containers: [container('1')], initContainers: [container('3'), container('2')] };
    expect(podRequests(pod(spec))['cpu']).toBe(3_000);
  });

  it('count a sidecar with the containers and with each init container after it', () => {
    const sidecar = container('1', 'Always');
    expect(podRequests(pod({ containers: [container('1')], initContainers: [sidecar, container('3')] }))['cpu']).toBe(
      4_000,
    );
    expect(podRequests(pod({ containers: [container('1')], initContainers: [container('1'), sidecar] }))['cpu']).toBe(
      2_000,
    );
  });

  it('are those of the pod itself where it has its own, with overhead on top', () => {
    const spec = { containers: [container('1')], resources: { requests: { cpu: '2' } }, overhead: { cpu: '100m' } };
    expect(podRequests(pod(spec))['cpu']).toBe(2_100);
  });
});

describe('host ports', () => {
  it('conflict on the same protocol and number when an address is the same or any', () => {
    const spec = {
      containers: [
        { name: 'a', ports: [{ containerPort: 80, hostPort: 80 }, { containerPort: 81 }] },
        { name: 'b', ports: [{ containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '127.0.0.1' }] },
      ],
    };
    const [web, dns] = hostPorts(pod(spec));
    expect(hostPorts(pod(spec))).toHaveLength(2);
    if (web === undefined || dns === undefined) throw new Error('two ports');
    expect(portsConflict(web, { ip: '10.0.0.1', protocol: 'TCP', port: 80 })).toBe(true);
    expect(portsConflict(dns, { ip: '10.0.0.1', protocol: 'UDP', port: 53 })).toBe(false);
    expect(portsConflict(dns, { ip: '127.0.0.1', protocol: 'TCP', port: 53 })).toBe(false);
  });
});
