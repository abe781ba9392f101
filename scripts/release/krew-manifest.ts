import { stringify } from 'yaml';

/** An archive of the command, where it can be fetched. */
export interface Archive {
  /** As package.json says it, such as `0.1.0`. */
  readonly version: string;
  /** The project's page. */
  readonly homepage: string;
  readonly url: string;
  /** Of the archive, in hexadecimal digits. */
  readonly sha256: string;
}

/**
 * The manifest by which `kubectl krew install` finds the command (krew's plugin API, v1alpha2). The archive is npm's,
 * with all in `package`.
 */
export function krewManifest({ version, homepage, url, sha256 }: Archive): string {
  return stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'nodewright' },
      spec: {
        version: `v${version}`,
        homepage,
        shortDescription: 'Plan, explain and deploy node provisioning for AKS',
        description:
          'Plans from manifests which nodes pods need and what they cost, says which nodes a cluster can do without, and deploys Nodewright, the node provisioner for AKS.',
        caveats: 'It needs Node.js 22 or newer on the PATH, and the Azure CLI for deploy, status and uninstall.',
        platforms: [
          {
            selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', 'linux'] }] },
            uri: url,
            sha256,
            bin: 'package/cli/bin.js',
          },
        ],
      },
    },
    { lineWidth: 0 },
  );
}
