import { textAt, type JsonObject } from '../arm/json.ts';
import type { Extension, Vm } from '../arm/resources.ts';

/** The version of the guest agent that every machine of the double has. */
const AGENT_VERSION = '2.15.0.1';

const STATES: Readonly<Record<Vm['provisioningState'], string>> = {
  Creating: 'Creating',
  Updating: 'Updating',
  Succeeded: 'Provisioning succeeded',
  Failed: 'Provisioning failed',
  Deleting: 'Deleting',
};

/**
 * The instance view of a VM, as recorded: what the guest says of itself is there when its agent has reported, and
 * nothing of the agent when no machine is there.
 */
export function renderInstanceView(vm: Vm): JsonObject {
  const isReady = isReporting(vm);
  return {
    ...(isReady
      ? {
          computerName: textAt(vm.body, 'properties.osProfile.computerName') ?? vm.name,
          osName: 'ubuntu',
          osVersion: '22.04',
        }
      : {}),
    ...(vm.powerState === 'deallocated' ? {} : { vmAgent: isReady ? renderAgent(vm) : silentAgent(vm) }),
    disks: [
      {
        name: vm.filled.diskName,
        statuses: [status('ProvisioningState/succeeded', 'Provisioning succeeded', vm.createdAt)],
      },
    ],
    ...(vm.extensions.size === 0 ? {} : { extensions: [...vm.extensions.values()].map(renderExtensionView) }),
    hyperVGeneration: vm.filled.generation,
    statuses: [
      renderState(vm),
      ...(vm.powerState === 'unknown'
        ? []
        : [{ code: `PowerState/${vm.powerState}`, level: 'Info', displayStatus: `VM ${vm.powerState}` }]),
    ],
  };
}

/** An extension that fails makes its VM look failed; the guest that says so reports all the same. */
function isReporting(vm: Vm): boolean {
  if (vm.powerState !== 'running') return false;
  const isSettled = vm.provisioningState === 'Succeeded' || vm.provisioningState === 'Updating';
  return isSettled || vm.failure?.code === 'VMExtensionProvisioningError';
}

function renderState({ failure, provisioningState, since }: Vm): JsonObject {
  if (failure === null)
    return status(`ProvisioningState/${provisioningState.toLowerCase()}`, STATES[provisioningState], since);
  return {
    code: `ProvisioningState/failed/${failure.code}`,
    level: 'Error',
    displayStatus: STATES.Failed,
    message: failure.message,
    time: new Date(since).toISOString(),
  };
}

function renderAgent(vm: Vm): JsonObject {
  return {
    vmAgentVersion: AGENT_VERSION,
    statuses: [{ ...status('ProvisioningState/succeeded', 'Ready', vm.since), message: 'Guest Agent is running' }],
    extensionHandlers: [...vm.extensions.values()].map((extension) => ({
      type: typeOf(extension),
      typeHandlerVersion: textAt(extension.body, 'properties.typeHandlerVersion') ?? '',
      status: {
        code: 'ProvisioningState/succeeded',
        level: 'Info',
        displayStatus: 'Ready',
        message: 'Plugin enabled',
      },
    })),
  };
}

function silentAgent(vm: Vm): JsonObject {
  return {
    vmAgentVersion: 'Unknown',
    statuses: [
      {
        code: 'ProvisioningState/Unavailable',
        level: 'Warning',
        displayStatus: 'Not Ready',
        message: 'VM status blob is found but not yet populated.',
        time: new Date(vm.since).toISOString(),
      },
    ],
  };
}

function renderExtensionView(extension: Extension): JsonObject {
  const { name, body, provisioningState, failure } = extension;
  const state = provisioningState.toLowerCase();
  const wellDone = { code: `ProvisioningState/${state}`, level: 'Info', displayStatus: STATES[provisioningState] };
  const failed = {
    code: `ProvisioningState/${state}/1`,
    level: 'Error',
    displayStatus: STATES.Failed,
    message: failure,
  };
  return {
    name,
    type: typeOf(extension),
    typeHandlerVersion: textAt(body, 'properties.typeHandlerVersion') ?? '',
    statuses: [failure === null ? wellDone : failed],
  };
}

function typeOf({ body }: Extension): string {
  return `${textAt(body, 'properties.publisher') ?? ''}.${textAt(body, 'properties.type') ?? ''}`;
}

function status(code: string, displayStatus: string, at: number): JsonObject {
  return { code, level: 'Info', displayStatus, time: new Date(at).toISOString() };
}
