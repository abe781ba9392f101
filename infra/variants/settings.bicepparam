// Every setting of the app, and a namespace of one's own.
using '../main.bicep'

param environmentName = 'production'

param location = 'westeurope'

param clusterResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/my-group/providers/Microsoft.ContainerService/managedClusters/my-cluster'

param nodeSubnetResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/MC_my-group_my-cluster_westeurope/providers/Microsoft.Network/virtualNetworks/aks-vnet-00000000/subnets/aks-subnet'

param relayNamespace = 'nodes'

param settings = {
  DISRUPTION: 'off'
  DISRUPT_SCHEDULE: '30 */5 * * * *'
  FEATURE_GATES: 'NodeRepair=true,CapacityBuffer=true'
  IGNORE_DRA_REQUESTS: 'true'
  LINUX_ADMIN_USERNAME: 'azureuser'
  MAINTENANCE_CONFIGURATION_ID: ''
  MIN_VALUES_POLICY: 'BestEffort'
  PREFERENCE_POLICY: 'Ignore'
  RESERVE_NODES: 'false'
  SCHEDULER_CONFIG: ''
  SWEEP_SCHEDULE: '0 */5 * * * *'
  VM_MEMORY_OVERHEAD_PERCENT: '0.075'
}
