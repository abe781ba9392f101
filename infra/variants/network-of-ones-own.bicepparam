// A virtual network of one's own, with pods in an overlay.
using '../main.bicep'

param environmentName = 'production'

param location = 'westeurope'

param clusterResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/my-group/providers/Microsoft.ContainerService/managedClusters/my-cluster'

param nodeSubnetResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/own/subnets/nodes'

param virtualNetworkGuid = '00000000-0000-0000-0000-000000000001'
