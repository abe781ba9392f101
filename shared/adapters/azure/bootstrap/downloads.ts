import { minorOf } from './kubernetes-minor.ts';

const MIRROR = 'https://acs-mirror.azureedge.net';

/**
 * The credential provider's release for a minor version of Kubernetes; from the last one on it serves all that follow.
 */
const CREDENTIAL_PROVIDERS: ReadonlyArray<readonly [minor: number, version: string]> = [
  [30, '1.30.12'],
  [31, '1.31.6'],
  [32, '1.32.5'],
  [33, '1.33.0'],
];

/** From this minor version on node images know by themselves where the kubelet comes from. */
const IMAGES_KNOW = 34;

/** Where a node finds what its image does not carry for its Kubernetes version. */
export interface Downloads {
  /** Null: the image knows. */
  readonly kubelet: string | null;
  /** Null: the kubelet of that version asks Azure's registries by itself. */
  readonly credentialProvider: string | null;
  readonly vnetCni: string;
  readonly cni: string;
}

/** The provider's addresses (reference §5.1). Newer node scripts replace the host by the one that AKS serves today. */
export function downloadsOf(kubernetesVersion: string, isArm: boolean): Downloads {
  const arch = isArm ? 'arm64' : 'amd64';
  const version = kubernetesVersion.replace(/^v/, '');
  const minor = minorOf(version);
  const provider = CREDENTIAL_PROVIDERS.findLast(([from]) => from <= minor)?.[1];
  return {
    kubelet:
      minor < IMAGES_KNOW ? `${MIRROR}/kubernetes/v${version}/binaries/kubernetes-node-linux-${arch}.tar.gz` : null,
    credentialProvider:
      provider === undefined
        ? null
        : `${MIRROR}/cloud-provider-azure/v${provider}/binaries/azure-acr-credential-provider-linux-${arch}-v${provider}.tar.gz`,
    vnetCni: `${MIRROR}/azure-cni/v1.4.32/binaries/azure-vnet-cni-linux-${arch}-v1.4.32.tgz`,
    cni: `${MIRROR}/cni-plugins/v1.1.1/binaries/cni-plugins-linux-${arch}-v1.1.1.tgz`,
  };
}
