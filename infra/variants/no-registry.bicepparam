// The relay's image comes from elsewhere.
using '../main.bicep'

param environmentName = 'production'

param location = 'westeurope'

param clusterResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/my-group/providers/Microsoft.ContainerService/managedClusters/my-cluster'

param nodeSubnetResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/MC_my-group_my-cluster_westeurope/providers/Microsoft.Network/virtualNetworks/aks-vnet-00000000/subnets/aks-subnet'

param createRegistry = false

param relayImage = 'registry.example.com/nodewright-relay:0.1.0'
