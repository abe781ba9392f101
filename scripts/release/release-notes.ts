/** What a release consists of. */
export interface Release {
  readonly version: string;
  /** `OWNER/NAME` on GitHub. */
  readonly repository: string;
  /** Where its files are. */
  readonly download: string;
  /** With its digest. */
  readonly relayImage: string;
  /** Of the chart, as `oci://REGISTRY/NAME`. */
  readonly chart: string;
  /** The changelog's section. */
  readonly changes: string;
}

/** The text of a release's page, in Markdown. */
export function releaseNotes({ version, repository, download, relayImage, chart, changes }: Release): string {
  const template = encodeURIComponent(`${download}/main.json`);
  const signer = `https://github.com/${repository}/.github/workflows/release.yml@refs/tags/v${version}`;
  return `## Deploy

    npx nodewright@${version} deploy --cluster "$(az aks show --resource-group GROUP --name CLUSTER --query id --output tsv)"

It needs Node 22 or newer and the Azure CLI, logged in. Or the infrastructure in the portal first, and the same command after it, which
brings the code and the chart:

[![Deploy to Azure](https://aka.ms/deploytoazurebutton)](https://portal.azure.com/#create/Microsoft.Template/uri/${template})

## What it is made of

| Part | Where |
|---|---|
| the command | npm \`nodewright@${version}\`; krew: \`kubectl krew install --manifest-url ${download}/nodewright.yaml\` |
| the relay's image, for amd64 and arm64 | \`${relayImage}\` |
| the chart | \`helm install nodewright ${chart} --version ${version}\` |
| the template, the app's code | [main.json](${download}/main.json), [app.zip](${download}/app.zip) |

All are built by one run of the workflow and signed by it. To check:

    gh attestation verify oci://${relayImage} --repo ${repository} --cert-identity ${signer}
    gh attestation verify app.zip --repo ${repository}
    sha256sum --check --ignore-missing SHA256SUMS

## Changes

${changes}
`;
}
