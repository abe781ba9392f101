// What has to be said; npm run preflight prints all of these lines but the first. Everything else in main.bicep has a default: name it here to choose otherwise.
using '../main.bicep'

param environmentName = 'production'

param location = 'westeurope'

// az aks show --resource-group GROUP --name CLUSTER --query id --output tsv
param clusterResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/my-group/providers/Microsoft.ContainerService/managedClusters/my-cluster'

// Where the cluster has a virtual network of its own making, in its node resource group:
//   az network vnet list --resource-group NODE_RESOURCE_GROUP --query '[0].subnets[0].id' --output tsv
// and else: az aks show … --query 'agentPoolProfiles[0].vnetSubnetId' --output tsv
param nodeSubnetResourceId = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/MC_my-group_my-cluster_westeurope/providers/Microsoft.Network/virtualNetworks/aks-vnet-00000000/subnets/aks-subnet'

// For a virtual network of your own, with pods in an overlay: az network vnet show --ids NETWORK --query resourceGuid --output tsv
// param virtualNetworkGuid = '00000000-0000-0000-0000-000000000000'
