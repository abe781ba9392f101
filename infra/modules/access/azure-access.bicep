targetScope = 'subscription'

metadata description = 'What the functions may do in Azure outside their own resource group, each at the smallest scope that has it.'

@description('The resource group in which AKS keeps the machines.')
param nodeResourceGroup string

@description('The resource group of the cluster itself.')
param clusterResourceGroup string

@description('Name of the cluster.')
param clusterName string

@description('The subnet of the nodes.')
param nodeSubnetResourceId string

@description('Further subnets that nodes may be put into.')
param additionalNodeSubnetResourceIds string[]

@description('The identity that every node carries.')
param kubeletIdentityId string

@description('The disk encryption set of the nodes; empty: they have none.')
param diskEncryptionSetResourceId string

@description('Distinguishes names of roles from those of other deployments.')
param suffix string

@description('Object id of the identity of the functions.')
param principalId string

var subnetParts = split(nodeSubnetResourceId, '/')
var identityParts = split(kubeletIdentityId, '/')
// The scope of a module may be worked out where its condition is false, too: what is split there always has all its parts.
var encryptionParts = split(
  empty(diskEncryptionSetResourceId)
    ? '${subscription().id}/resourceGroups/${nodeResourceGroup}/providers/Microsoft.Compute/diskEncryptionSets/none'
    : diskEncryptionSetResourceId,
  '/'
)

module machines 'machine-role.bicep' = {
  name: 'nodewright-machines-${suffix}'
  scope: resourceGroup(nodeResourceGroup)
  params: {
    suffix: suffix
    principalId: principalId
  }
}

module region 'region-role.bicep' = {
  name: 'nodewright-region-${suffix}'
  params: {
    suffix: suffix
    principalId: principalId
  }
}

module maintenance 'maintenance-role.bicep' = {
  name: 'nodewright-maintenance-${suffix}'
  scope: resourceGroup(clusterResourceGroup)
  params: {
    clusterName: clusterName
    suffix: suffix
    principalId: principalId
  }
}

// In AKS's own virtual network the role above reaches the subnet.
module subnet 'subnet-role.bicep' = if (toLower(subnetParts[4]) != toLower(nodeResourceGroup)) {
  name: 'nodewright-subnet-${suffix}'
  scope: resourceGroup(subnetParts[2], subnetParts[4])
  params: {
    virtualNetworkName: subnetParts[8]
    subnetName: subnetParts[10]
    suffix: suffix
    principalId: principalId
  }
}

module furtherSubnets 'subnet-role.bicep' = [
  for (subnetId, index) in additionalNodeSubnetResourceIds: {
    name: 'nodewright-subnet-${suffix}-${index + 1}'
    scope: resourceGroup(split(subnetId, '/')[2], split(subnetId, '/')[4])
    params: {
      virtualNetworkName: split(subnetId, '/')[8]
      subnetName: split(subnetId, '/')[10]
      suffix: '${suffix}-${index + 1}'
      principalId: principalId
    }
  }
]

// Always by a role on the one identity: in AKS's own group there may be those of add-ons, which the functions shall not give away.
module identity 'identity-role.bicep' = {
  name: 'nodewright-identity-${suffix}'
  scope: resourceGroup(identityParts[2], identityParts[4])
  params: {
    identityName: identityParts[8]
    suffix: suffix
    principalId: principalId
  }
}

module encryption 'encryption-role.bicep' = if (!empty(diskEncryptionSetResourceId)) {
  name: 'nodewright-encryption-${suffix}'
  scope: resourceGroup(encryptionParts[2], encryptionParts[4])
  params: {
    diskEncryptionSetName: last(encryptionParts)
    suffix: suffix
    principalId: principalId
  }
}
