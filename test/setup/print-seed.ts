/** Said before the first test, so that also a run that is killed, or hangs, can be repeated. */
export function setup({ config }: { readonly config: { readonly env?: Readonly<Record<string, unknown>> } }): void {
  process.stdout.write(`laws draw with FAST_CHECK_SEED=${String(config.env?.['FAST_CHECK_SEED'])}\n`);
}
