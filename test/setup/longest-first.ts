import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take long, longest first, each with its seconds on two cores (23 November 2026). What begins last and
 * takes long is waited for by all workers but one; a clean checkout remembers no durations, and the size of a file
 * tells nothing of them.
 */
export const SECONDS: Readonly<Record<string, number>> = {
  'e2e/leaving/leaving-cheaper': 255,
  'simulation/more-disruption': 120,
  'e2e/azure-cli/faults.real': 400,
  'e2e/leaving/leaving-held': 225,
  'e2e/leaving/leaving.real': 220,
  'e2e/broken/chaos': 190,
  'e2e/evicted/eviction-paths': 190,
  'e2e/evicted/eviction-paths.real': 190,
  'e2e/broken/chaos-twice.real': 185,
  'e2e/broken/chaos.real': 185,
  'e2e/leaving/leaving-changed': 170,
  'e2e/broken/failure': 165,
  'e2e/broken/failure.real': 165,
  'e2e/reading/compatibility.real': 160,
  'simulation/more-notices': 140,
  'e2e/holding/drifts.real': 140,
  'e2e/evicted/interruption': 130,
  'e2e/azure-cli/upgrade.real': 350,
  'e2e/reading/compatibility': 110,
  'e2e/holding/holds.real': 90,
  'simulation/more-seeds': 45,
  'e2e/lives/upgrade': 85,
  'e2e/lives/idle': 85,
  'e2e/lives/idle.real': 85,
  'contract/infra/chart.real': 80,
  'e2e/joining/scale.real': 75,
  'e2e/evicted/interruption.real': 75,
  'e2e/commands/start': 70,
  'e2e/refused/throttled': 70,
  'e2e/commands/start.real': 70,
  'contract/kubernetes-runtime/runtime.real': 70,
  'e2e/refused/one-fault': 65,
  'e2e/refused/one-fault.real': 65,
  'e2e/azure-cli/deploy.real': 200,
  'e2e/lives/lifecycle': 60,
  'e2e/lives/lifecycle.real': 60,
  'e2e/joining/buffers.real': 60,
  'e2e/lives/together.real': 45,
  'e2e/leaving/disruption.real': 45,
  'e2e/leaving/disruption': 40,
  'contract/kubernetes/kubectl.real': 35,
  'contract/kubernetes-runtime/runtime': 18,
  'e2e/lives/azure-rights': 13,
  'contract/relay/relay': 13,
  'contract/functions-host/service-bus': 10,
  'e2e/commands/cli': 8,
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
