import type { FailedBoot } from '../../../ports/cloud.ts';

/** What a range of exit codes of AKS's node set-up means, and whether another size or image would help. */
interface Meaning {
  readonly from: number;
  readonly to: number;
  readonly words: string;
  readonly isOfSize: boolean;
}

const meaning = (from: number, to: number, words: string, isOfSize = false): Meaning => ({ from, to, words, isOfSize });

/** Source: AgentBaker's helpers of the node scripts, 2026-08 (reference §10). */
const MEANINGS: ReadonlyArray<Meaning> = [
  meaning(4, 4, 'a system service did not start', true),
  meaning(30, 30, 'the cluster did not answer as a healthy one'),
  meaning(31, 31, 'the Kubernetes binaries could not be downloaded'),
  meaning(34, 34, 'the kubelet did not start: see kubelet and linuxOSConfig of the AKSNodeClass'),
  meaning(41, 41, 'the network plugin could not be downloaded'),
  meaning(49, 49, 'a kernel module could not be loaded', true),
  meaning(50, 50, 'no connection to the outside: see routes, firewall and network security group of the subnet'),
  meaning(51, 51, 'no connection to the API server: see routes, firewall and the private link of the cluster'),
  meaning(52, 53, 'the API server has no name in the DNS of the virtual network'),
  meaning(65, 65, 'the node image lacks a file that it should have', true),
  meaning(83, 87, 'the GPU driver could not be installed', true),
  meaning(99, 99, 'packages could not be installed'),
  meaning(100, 100, 'the node scripts were not ready in time', true),
  meaning(103, 103, 'a kernel setting was refused: see linuxOSConfig.sysctls of the AKSNodeClass'),
  meaning(124, 124, 'the set-up took too long', true),
  meaning(130, 131, 'the swap file could not be made: see linuxOSConfig.swapFileSize of the AKSNodeClass', true),
  meaning(152, 154, 'artifact streaming could not be set up: see artifactStreaming of the AKSNodeClass', true),
  meaning(161, 161, 'a CA certificate could not be installed'),
  meaning(205, 205, 'the credential provider for container registries could not be installed'),
  meaning(207, 212, 'an artifact could not be pulled from the registry'),
  meaning(215, 215, 'the DNS of the virtual network does not answer'),
  meaning(216, 219, 'the local DNS cache did not start: see localDNS of the AKSNodeClass', true),
  meaning(220, 220, 'the secure TLS bootstrap failed'),
  meaning(223, 223, 'cloud-init failed', true),
  meaning(224, 230, 'the managed GPU components could not be set up', true),
  meaning(234, 234, 'the metadata service could not be restricted'),
  meaning(240, 240, 'the node controller failed', true),
];

/** An exit code in words. What is not in the table may be of the size: it is tried elsewhere. */
export function wordsOf(exitCode: number): Pick<FailedBoot, 'message' | 'isOfSize'> {
  const found = MEANINGS.find(({ from, to }) => from <= exitCode && exitCode <= to);
  const words = found?.words ?? 'the set-up of the node failed';
  return { message: `${words} (exit code ${exitCode} of the node's set-up)`, isOfSize: found?.isOfSize ?? true };
}
