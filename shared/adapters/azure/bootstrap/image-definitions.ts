/** A node image definition in AKS's community galleries. */
export interface ImageDefinition {
  readonly family: ImageFamily;
  readonly definition: string;
  readonly arch: 'amd64' | 'arm64';
  readonly hyperVGeneration: '1' | '2';
  readonly trustedLaunch: boolean;
}

export type ImageFamily = 'Ubuntu2204' | 'Ubuntu2404' | 'AzureLinux2' | 'AzureLinux3';

type Row = readonly [
  family: ImageFamily,
  definition: string,
  arch: 'amd64' | 'arm64',
  generation: '1' | '2',
  trustedLaunch: boolean,
];

/**
 * In order of preference within a family. Source: the Azure provider's image families, 2026-08; FIPS images are not
 * public.
 */
const rows: ReadonlyArray<Row> = [
  ['Ubuntu2204', '2204gen2TLcontainerd', 'amd64', '2', true],
  ['Ubuntu2204', '2204gen2containerd', 'amd64', '2', false],
  ['Ubuntu2204', '2204containerd', 'amd64', '1', false],
  ['Ubuntu2204', '2204gen2arm64containerd', 'arm64', '2', false],
  ['Ubuntu2404', '2404gen2TLcontainerd', 'amd64', '2', true],
  ['Ubuntu2404', '2404gen2containerd', 'amd64', '2', false],
  ['Ubuntu2404', '2404containerd', 'amd64', '1', false],
  ['Ubuntu2404', '2404gen2arm64containerd', 'arm64', '2', false],
  ['AzureLinux2', 'V2gen2TL', 'amd64', '2', true],
  ['AzureLinux2', 'V2gen2', 'amd64', '2', false],
  ['AzureLinux2', 'V2', 'amd64', '1', false],
  ['AzureLinux2', 'V2gen2arm64', 'arm64', '2', false],
  ['AzureLinux3', 'V3gen2TL', 'amd64', '2', true],
  ['AzureLinux3', 'V3gen2', 'amd64', '2', false],
  ['AzureLinux3', 'V3', 'amd64', '1', false],
  ['AzureLinux3', 'V3gen2arm64', 'arm64', '2', false],
];

export const imageDefinitions: ReadonlyArray<ImageDefinition> = rows.map(
  ([family, definition, arch, hyperVGeneration, trustedLaunch]) => ({
    family,
    definition,
    arch,
    hyperVGeneration,
    trustedLaunch,
  }),
);

/** The community gallery that holds a family's images. */
export function galleryOf(family: ImageFamily): string {
  return family.startsWith('Ubuntu')
    ? 'AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2'
    : 'AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b';
}
