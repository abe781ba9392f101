import { type Answers, isNamespace } from './answers.ts';
import { allow } from './cluster-rights.ts';
import { type Check, finding } from './finding.ts';
import { hasKey, subnetOf } from './fill-in.ts';
import { isPublicKey } from './make-ssh-key.ts';

/** A cluster that lacks this has no admission policies. */
const KUBERNETES_MINIMUM = [1, 30] as const;

/** What the cluster has to have, or be like. */
export const clusterChecks: ReadonlyArray<Check> = [
  ({ cluster: { properties } }) => {
    const states = [properties.provisioningState ?? 'Succeeded', properties.powerState?.code ?? 'Running'];
    return finding('cluster', states.join() === 'Succeeded,Running', {
      good: 'the cluster runs',
      bad: `the cluster is ${states.join(' and ')}`,
      mend: 'az aks start CLUSTER, or wait until what is under way has ended',
    });
  },
  ({ cluster: { properties } }) => {
    const version = properties.currentKubernetesVersion ?? properties.kubernetesVersion ?? '0.0';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const [leastMajor, leastMinor] = KUBERNETES_MINIMUM;
    return finding('kubernetes-version', major > leastMajor || (major === leastMajor && minor >= leastMinor), {
      good: `Kubernetes ${version}`,
      bad: `Kubernetes ${version} has no admission policies; ${KUBERNETES_MINIMUM.join('.')} has`,
      mend: `az aks upgrade CLUSTER --kubernetes-version ${KUBERNETES_MINIMUM.join('.')}`,
    });
  },
  (answers) =>
    finding('entra-id', answers.cluster.properties.aadProfile?.managed === true, {
      good: 'the API server accepts Microsoft Entra ID tokens',
      bad: 'the API server does not accept Microsoft Entra ID tokens, which the functions use',
      mend: `az aks update CLUSTER --enable-aad --enable-azure-rbac, then ${assignAdmin(answers)}`,
    }),
  ({ cluster: { properties } }) =>
    finding('kubernetes-rbac', properties.enableRBAC === true, {
      good: 'Kubernetes decides by roles who may do what',
      bad: 'the cluster was made without Kubernetes RBAC: everybody may do everything in it',
      mend: 'create a new cluster: it cannot be enabled on an existing cluster',
    }),
  ({ cluster: { properties } }) =>
    finding('oidc-issuer', properties.oidcIssuerProfile?.enabled === true, {
      good: 'the cluster vouches for its service accounts',
      bad: 'the OIDC issuer is off, by which the cluster vouches for the relay',
      mend: 'az aks update CLUSTER --enable-oidc-issuer',
    }),
  ({ cluster: { properties } }) =>
    finding('workload-identity', properties.securityProfile?.workloadIdentity?.enabled === true, {
      good: 'pods can act as an identity of Azure',
      bad: 'workload identity is off, by which the relay gets to the Service Bus and to storage',
      mend: 'az aks update CLUSTER --enable-workload-identity',
    }),
  ({ cluster: { properties } }) =>
    finding('managed-identity', properties.identityProfile?.['kubeletidentity']?.resourceId !== undefined, {
      good: 'nodes carry a managed identity',
      bad: 'the cluster works with a service principal; new nodes would have no identity',
      mend: 'az aks update CLUSTER --enable-managed-identity',
    }),
  ({ cluster: { properties } }) => {
    const { mode, defaultNodePools } = properties.nodeProvisioningProfile ?? {};
    // Karpenter serves every NodePool whose class is of its kind, and AKS has no field that says which: None only
    // leaves out AKS's own.
    const hasOwnPools = defaultNodePools !== 'None';
    return finding('node-auto-provisioning', mode !== 'Auto', {
      good: 'Node Auto Provisioning is off',
      bad: `Node Auto Provisioning is on: it serves every NodePool with an AKSNodeClass, so for those that you make for Nodewright both would make nodes${
        hasOwnPools ? '' : '; that AKS makes no NodePools of its own (defaultNodePools None) does not confine it'
      }`,
      mend: `az aks update CLUSTER --node-provisioning-mode Manual, once its nodes are gone and its NodePools have a CPU limit of 0: docs/migrate.md has the steps${
        hasOwnPools ? ' (AKS’s own NodePools are default and system-surge)' : ''
      }`,
    });
  },
  ({ cluster: { properties } }) =>
    finding('node-resource-group', properties.nodeResourceGroupProfile?.restrictionLevel !== 'ReadOnly', {
      good: `VMs can be made in ${properties.nodeResourceGroup}`,
      bad: `the node resource group ${properties.nodeResourceGroup} is locked down: nobody but AKS makes VMs in it`,
      mend: 'az aks update CLUSTER --nrg-lockdown-restriction-level Unrestricted',
    }),
  ({ cluster: { properties } }) => {
    const plugin = properties.networkProfile?.networkPlugin ?? 'azure';
    return finding('network-plugin', plugin === 'azure' || plugin === 'none', {
      good: `pods get their addresses from ${plugin === 'none' ? 'a plugin of your own' : 'Azure CNI'}`,
      bad: `nodes for the network plugin ${plugin} are not made`,
      mend: 'az aks update CLUSTER --network-plugin azure --network-plugin-mode overlay',
    });
  },
  (answers) =>
    finding('node-subnet', subnetOf(answers) !== '', {
      good: `new nodes go to ${subnetOf(answers)}`,
      bad: 'which subnet new nodes belong to cannot be told: no node pool names one, and AKS made none or several',
      mend: 'azd env set NODEWRIGHT_NODE_SUBNET_ID SUBNET_ID',
    }),
  (answers) => {
    const { sshPublicKey, environment } = answers.wishes;
    if (sshPublicKey !== '') {
      return finding('ssh-key', isPublicKey(sshPublicKey), {
        good: 'nodes let in the SSH key that you name',
        bad: `NODEWRIGHT_SSH_PUBLIC_KEY is no public SSH key: ${JSON.stringify(sshPublicKey.slice(0, 40))}`,
        mend: 'azd env set NODEWRIGHT_SSH_PUBLIC_KEY "$(cat KEY.pub)", one line that begins with ssh-rsa or ssh-ed25519',
      });
    }
    return finding('ssh-key', hasKey(answers) || environment !== '', {
      good: hasKey(answers)
        ? 'the cluster has a public SSH key for nodes'
        : 'the cluster has no SSH key; nodes get one whose private half nobody has',
      bad: 'the cluster has no public SSH key, without which Azure makes no Linux VM',
      mend: `ssh-keygen -q -t rsa -b 3072 -N '' -f nodewright-nodes, write nodewright-nodes.pub as param sshPublicKey = '…' into infra/by-hand/nodewright.bicepparam, and look again with NODEWRIGHT_SSH_PUBLIC_KEY="$(cat nodewright-nodes.pub)"`,
    });
  },
  ({ cluster: { properties } }) => {
    const scaled = (properties.agentPoolProfiles ?? []).filter(({ enableAutoScaling }) => enableAutoScaling === true);
    return finding('cluster-autoscaler', scaled.length === 0, {
      good: 'no node pool scales itself',
      bad: `Cluster Autoscaler scales ${scaled.map(({ name }) => name).join(', ')}: it and Nodewright answer to the same pods`,
      mend: 'az aks nodepool update --cluster-name CLUSTER --name POOL --disable-cluster-autoscaler, once Nodewright has made nodes',
      verdict: 'warning',
    });
  },
  ({ cluster: { properties }, wishes: { install } }) => {
    if (install !== '' && install !== 'helm') {
      return finding('run-command', false, {
        good: '',
        bad: `NODEWRIGHT_INSTALL is ${JSON.stringify(install)}, and only helm can be said`,
        mend: 'azd env set NODEWRIGHT_INSTALL helm, or "" for a command through Azure',
      });
    }
    const isOff = properties.apiServerAccessProfile?.disableRunCommand === true;
    return finding('run-command', install === 'helm' || !isOff, {
      good: install === 'helm' ? 'Helm of this machine installs the chart' : 'the chart can be installed through Azure',
      bad: 'commands through Azure are switched off in the cluster, by which the chart would be installed',
      mend: 'azd env set NODEWRIGHT_INSTALL helm, with helm and a kubeconfig on this machine that reaches the cluster',
    });
  },
  ({ wishes: { namespace } }) =>
    finding('namespace', namespace === '' || isNamespace(namespace), {
      good: `the relay runs in ${namespace === '' ? 'nodewright-system' : namespace}`,
      bad: `NODEWRIGHT_NAMESPACE is ${JSON.stringify(namespace)}, which is no name of a namespace`,
      mend: 'azd env set NODEWRIGHT_NAMESPACE to lower-case letters, digits and dashes, 63 at most',
    }),
  ({ wishes: { chartValues }, hasChartValues }) =>
    finding('chart-values', hasChartValues, {
      good: chartValues === '' ? 'the chart has no values of your own' : `the chart has the values of ${chartValues}`,
      bad: `NODEWRIGHT_CHART_VALUES names ${chartValues}, which does not exist`,
      mend: 'azd env set NODEWRIGHT_CHART_VALUES to the path of a YAML file from the repository’s root, or to ""',
    }),
  (answers) => {
    const { inCluster } = answers;
    switch (inCluster.kind) {
      case 'allowed':
        return finding('rights-in-cluster', true, { good: 'you may install the chart', bad: '', mend: '' });
      case 'lacking':
        return finding('rights-in-cluster', false, {
          good: '',
          bad: `you may not install the chart: in the cluster you lack ${inCluster.what.join(', ')}. Azure’s role Owner does not give that`,
          mend: becomeAdmin(answers),
        });
      case 'refused':
        return finding('rights-in-cluster', false, {
          good: '',
          bad: inCluster.why,
          mend: 'see that a node of the cluster is ready for the pod that Azure runs commands in, or azd env set NODEWRIGHT_INSTALL helm, with helm and a kubeconfig on this machine',
        });
      case 'unasked':
        return finding('rights-in-cluster', false, {
          good: '',
          bad: `nobody has asked whether you may install the chart: ${inCluster.why}`,
          mend: "kubectl auth can-i '*' '*' --all-namespaces has to answer yes",
          verdict: 'warning',
        });
      default:
        return inCluster satisfies never;
    }
  },
  ({ permissions }) =>
    finding('rights-on-cluster', allow(permissions.onCluster, CREDENTIAL_ACTIONS), {
      good: 'the deployment may read how the cluster is reached',
      bad: 'you may not read the cluster’s user credentials, of which the deployment takes the certificate authority',
      mend: 'ask an owner for the role Azure Kubernetes Service Cluster User Role on the cluster',
    }),
];

/** What the deployment asks of the cluster as whoever deploys: infra/modules/function-app.bicep. */
const CREDENTIAL_ACTIONS = ['Microsoft.ContainerService/managedClusters/listClusterUserCredential/action'];

function assignAdmin({ cluster, deployer }: Answers): string {
  return `az role assignment create --assignee ${deployer} --role "Azure Kubernetes Service RBAC Cluster Admin" --scope ${cluster.id}`;
}

/** Where Azure's roles decide one of them does; else whoever is in a group of administrators has all rights. */
function becomeAdmin(answers: Answers): string {
  const { aadProfile } = answers.cluster.properties;
  if (aadProfile?.enableAzureRBAC === true) return assignAdmin(answers);
  const groups = aadProfile?.adminGroupObjectIDs ?? [];
  const own = 'az aks update CLUSTER --aad-admin-group-object-ids GROUP, of a group that you are in';
  return groups.length === 0
    ? `${own}; or az aks update --enable-azure-rbac for the cluster, and ${assignAdmin(answers)}`
    : `become a member of the group ${groups.join(' or ')}, whose members administer the cluster`;
}
