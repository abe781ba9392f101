import type { PodSpec } from '../../kubernetes/manifest.ts';

/** A port of the node that a pod takes: `ip` is `0.0.0.0` for all addresses. */
export interface HostPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

const ALL_ADDRESSES = '0.0.0.0';

/** The host ports of all containers, sidecars included. */
export function hostPortsOf(spec: PodSpec): ReadonlyArray<HostPort> {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...spec.containers, ...sidecars].flatMap(({ ports }) =>
    (ports ?? [])
      .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0)
      .map(({ hostPort, hostIP, protocol }) => ({
        ip: hostIP === undefined || hostIP === '' || hostIP === '::' ? ALL_ADDRESSES : hostIP,
        port: hostPort ?? 0,
        protocol: protocol ?? 'TCP',
      })),
  );
}

/** Does it take the port on every address of the node? */
export function isOnAllAddresses({ ip }: HostPort): boolean {
  return ip === ALL_ADDRESSES;
}

/** Can the two sets not share a node? */
export function portsConflict(a: ReadonlyArray<HostPort>, b: ReadonlyArray<HostPort>): boolean {
  return a.some((one) => b.some((other) => conflicts(one, other)));
}

function conflicts(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === ALL_ADDRESSES || b.ip === ALL_ADDRESSES;
}
