/** How the driver of a GPU size is installed. */
export type GpuDriver = 'cuda' | 'cuda-lts' | 'grid' | 'grid-v20';

/** GPU sizes that AKS node images support, lower-case: manufacturer, driver (nvidia only), operating systems. */
export interface GpuSize {
  readonly manufacturer: 'nvidia' | 'amd';
  readonly driver: GpuDriver | null;
  readonly ubuntu: boolean;
  readonly azureLinux: boolean;
}

type Row = readonly [name: string, manufacturer: 'n' | 'a', driver: GpuDriver | '', systems: string];

/** Source: the Azure provider's table of supported GPUs, 2026-08. Systems: u Ubuntu, z Azure Linux. */
const rows: ReadonlyArray<Row> = [
  ['standard_nc12', 'n', 'cuda', 'u'],
  ['standard_nc12_promo', 'n', 'cuda', 'u'],
  ['standard_nc12s_v2', 'n', 'cuda-lts', 'u'],
  ['standard_nc12s_v3', 'n', 'cuda-lts', 'uz'],
  ['standard_nc144ds_xl_rtxpro6000bse_v6', 'n', 'grid-v20', 'u'],
  ['standard_nc144lds_xl_rtxpro6000bse_v6', 'n', 'grid-v20', 'u'],
  ['standard_nc16ads_a10_v4', 'n', 'grid', 'uz'],
  ['standard_nc16as_t4_v3', 'n', 'cuda-lts', 'uz'],
  ['standard_nc24', 'n', 'cuda', 'u'],
  ['standard_nc24_promo', 'n', 'cuda', 'u'],
  ['standard_nc24ads_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nc24lds_xl_rtxpro6000bse_v6', 'n', 'grid-v20', 'u'],
  ['standard_nc24r', 'n', 'cuda', 'u'],
  ['standard_nc24r_promo', 'n', 'cuda', 'u'],
  ['standard_nc24rs_v2', 'n', 'cuda-lts', 'u'],
  ['standard_nc24rs_v3', 'n', 'cuda-lts', 'uz'],
  ['standard_nc24s_v2', 'n', 'cuda-lts', 'u'],
  ['standard_nc24s_v3', 'n', 'cuda-lts', 'uz'],
  ['standard_nc288ds_xl_rtxpro6000bse_v6', 'n', 'grid-v20', 'u'],
  ['standard_nc288lds_xl_rtxpro6000bse_v6', 'n', 'grid-v20', 'u'],
  ['standard_nc32ads_a10_v4', 'n', 'grid', 'uz'],
  ['standard_nc36ds_xl_rtxpro6000bse_v6', 'n', 'grid-v20', 'u'],
  ['standard_nc36lds_xl_rtxpro6000bse_v6', 'n', 'grid-v20', 'u'],
  ['standard_nc40ads_h100_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nc48ads_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nc4as_t4_v3', 'n', 'cuda-lts', 'uz'],
  ['standard_nc6', 'n', 'cuda', 'u'],
  ['standard_nc64as_t4_v3', 'n', 'cuda-lts', 'uz'],
  ['standard_nc6_promo', 'n', 'cuda', 'u'],
  ['standard_nc6s_v2', 'n', 'cuda-lts', 'u'],
  ['standard_nc6s_v3', 'n', 'cuda-lts', 'uz'],
  ['standard_nc72ds_xl_rtxpro6000bse_v6', 'n', 'grid-v20', 'u'],
  ['standard_nc72lds_xl_rtxpro6000bse_v6', 'n', 'grid-v20', 'u'],
  ['standard_nc80adis_h100_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nc8ads_a10_v4', 'n', 'grid', 'uz'],
  ['standard_nc8as_t4_v3', 'n', 'cuda-lts', 'uz'],
  ['standard_nc96ads_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd112amsr_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd112asr_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd120amsr_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd120asr_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd128isr_gb300_v6', 'n', 'cuda-lts', 'u'],
  ['standard_nd128isr_ndr_gb200_v6', 'n', 'cuda-lts', 'u'],
  ['standard_nd12s', 'n', 'cuda-lts', 'u'],
  ['standard_nd24rs', 'n', 'cuda-lts', 'u'],
  ['standard_nd24s', 'n', 'cuda-lts', 'u'],
  ['standard_nd40rs_v2', 'n', 'cuda-lts', 'uz'],
  ['standard_nd40s_v3', 'n', 'cuda-lts', 'uz'],
  ['standard_nd6s', 'n', 'cuda-lts', 'u'],
  ['standard_nd96ams_a100_flex_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96ams_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96ams_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96amsf_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96amsr_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96amsrf_a100_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96asr_v4', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96is_flex_h100_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96is_h100_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96is_h200_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96is_mi300x_v5', 'a', '', 'u'],
  ['standard_nd96is_noib_h100_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96isf_h100_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96isf_h200_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96isr_h100_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96isr_h200_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96isr_mi300x_v5', 'a', '', 'u'],
  ['standard_nd96isrf_h100_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nd96isrf_h200_v5', 'n', 'cuda-lts', 'uz'],
  ['standard_nv12', 'n', 'cuda-lts', 'u'],
  ['standard_nv12_promo', 'n', 'cuda-lts', 'u'],
  ['standard_nv12ads_a10_v5', 'n', 'grid', 'uz'],
  ['standard_nv12ads_v710_v5', 'a', '', 'u'],
  ['standard_nv12s_v3', 'n', 'cuda-lts', 'u'],
  ['standard_nv18ads_a10_v5', 'n', 'grid', 'uz'],
  ['standard_nv24', 'n', 'cuda-lts', 'u'],
  ['standard_nv24_promo', 'n', 'cuda-lts', 'u'],
  ['standard_nv24ads_v710_v5', 'a', '', 'u'],
  ['standard_nv24r', 'n', 'cuda-lts', 'u'],
  ['standard_nv24s_v3', 'n', 'cuda-lts', 'u'],
  ['standard_nv28adms_v710_v5', 'a', '', 'u'],
  ['standard_nv36adms_a10_v5', 'n', 'grid', 'uz'],
  ['standard_nv36ads_a10_v5', 'n', 'grid', 'uz'],
  ['standard_nv48s_v3', 'n', 'cuda-lts', 'u'],
  ['standard_nv4ads_v710_v5', 'a', '', 'u'],
  ['standard_nv6', 'n', 'cuda-lts', 'u'],
  ['standard_nv6_promo', 'n', 'cuda-lts', 'u'],
  ['standard_nv6ads_a10_v5', 'n', 'grid', 'uz'],
  ['standard_nv72ads_a10_v5', 'n', 'grid', 'uz'],
  ['standard_nv8ads_v710_v5', 'a', '', 'u'],
];

const byName: ReadonlyMap<string, GpuSize> = new Map(
  rows.map(([name, manufacturer, driver, systems]) => [
    name,
    {
      manufacturer: manufacturer === 'n' ? 'nvidia' : 'amd',
      driver: driver === '' ? null : driver,
      ubuntu: systems.includes('u'),
      azureLinux: systems.includes('z'),
    },
  ]),
);

/** What AKS knows of a GPU size; null when it does not support it. Promotional names count as the size they promote. */
export function gpuSize(sku: string): GpuSize | null {
  return byName.get(sku.toLowerCase().replace(/_promo$/, '')) ?? null;
}
