/** What a launch sends to Azure, and what its node boots with. */
export interface LaunchDocument {
  /** Bodies as they go over the wire. The custom data is below; the names are those of the URL. */
  readonly vm: object;
  readonly nic: object;
  readonly extension: object;
  /** What AKS's node controller reads at boot. */
  readonly nodeConfig: object;
  readonly kubeletFlags: object;
  readonly nodeLabels: object;
  /** Base64, as `osProfile.customData` has it. */
  readonly customData: string;
}
