import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take long, longest first, each with its seconds on two cores (28 November 2026). What begins last and
 * takes long is waited for by all workers but one; a clean checkout remembers no durations, and the size of a file
 * tells nothing of them.
 */
export const SECONDS: Readonly<Record<string, number>> = {
  'e2e/joining/scale.real': 355,
  'e2e/evicted/interruption.real': 350,
  'e2e/reading/compatibility.real': 345,
  'simulation/more-notices': 345,
  'simulation/once-broken': 300,
  'e2e/evicted/eviction-paths.real': 295,
  'e2e/refused/denied.real': 280,
  'e2e/leaving/leaving-cheaper': 255,
  'e2e/leaving/leaving.real': 250,
  'e2e/azure-cli/faults.real': 245,
  'e2e/azure-cli/upgrade.real': 235,
  'e2e/leaving/leaving-held': 225,
  'e2e/broken/chaos-twice.real': 220,
  'e2e/broken/failure.real': 210,
  'e2e/broken/chaos.real': 200,
  'e2e/evicted/interruption': 200,
  'e2e/azure-cli/deploy.real': 200,
  'e2e/broken/chaos': 190,
  'e2e/evicted/eviction-paths': 190,
  'e2e/leaving/leaving-changed': 170,
  'simulation/more-disruption': 165,
  'e2e/broken/failure': 165,
  'e2e/holding/drifts.real': 150,
  'e2e/lives/lifecycle.real': 150,
  'e2e/refused/one-fault.real': 135,
  'contract/kubernetes-runtime/runtime.real': 125,
  'e2e/lives/idle.real': 115,
  'e2e/commands/start': 115,
  'e2e/reading/compatibility': 110,
  'e2e/commands/start.real': 105,
  'contract/infra/chart.real': 95,
  'e2e/lives/lifecycle': 95,
  'e2e/holding/holds.real': 90,
  'e2e/lives/upgrade': 85,
  'e2e/lives/idle': 85,
  'e2e/joining/buffers.real': 75,
  'e2e/lives/together.real': 75,
  'e2e/refused/throttled': 70,
  'contract/kubernetes/kubectl.real': 70,
  'e2e/refused/one-fault': 65,
  'e2e/leaving/disruption.real': 65,
  'e2e/azure-cli/hooks.real': 60,
  'simulation/more-seeds': 55,
  'contract/infra/rights.real': 50,
  'e2e/leaving/disruption': 40,
  'contract/infra/chart-values.real': 35,
  'e2e/commands/cli.real': 35,
  'e2e/joining/devices.real': 35,
  'e2e/reading/describe.real': 35,
  'e2e/commands/published': 30,
  'e2e/evicted/eviction-rates': 25,
  'contract/kubernetes-runtime/control-plane.real': 25,
  'contract/kubernetes/api.real': 25,
  'e2e/reading/metrics.real': 25,
  'contract/relay/relay.real': 20,
  'contract/kubernetes-runtime/runtime': 18,
  'e2e/lives/azure-rights': 13,
  'contract/relay/relay': 13,
  'contract/functions-host/service-bus': 10,
  'e2e/commands/cli': 10,
  'contract/servicebus/faults': 6,
  'contract/azure/events/event-grid-queue': 5,
  'contract/servicebus/session': 5,
  'contract/servicebus/queue': 5,
  'contract/kubernetes/api': 5,
  'contract/infra/hooks': 4,
  'contract/infra/walk': 4,
};

/**
 * The longest first, whatever its project; then by project and name, so that workers keep the modules that they have
 * loaded.
 */
export class LongestFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return Promise.resolve(files.toSorted((a, b) => secondsOf(b) - secondsOf(a) || (keyOf(a) < keyOf(b) ? -1 : 1)));
  }
}

function secondsOf({ moduleId }: TestSpecification): number {
  const [, name = ''] = /[/]test[/](.*)[.]test[.]ts$/.exec(moduleId) ?? [];
  return SECONDS[name] ?? 0;
}

function keyOf({ project, moduleId }: TestSpecification): string {
  return `${project.name} ${moduleId}`;
}
