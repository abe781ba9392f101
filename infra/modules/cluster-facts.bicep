metadata description = 'Reads of an existing AKS cluster what other modules are given as parameters.'

@description('Name of the cluster, in the resource group that this module is deployed to.')
param clusterName string

resource cluster 'Microsoft.ContainerService/managedClusters@2024-10-01' existing = {
  name: clusterName
}

@description('The resource group in which AKS keeps the machines.')
output nodeResourceGroup string = cluster.properties.nodeResourceGroup

@description('Who signs the tokens of the cluster\'s service accounts.')
output oidcIssuer string = cluster.properties.oidcIssuerProfile.issuerURL

@description('The identity that every node carries.')
output kubeletIdentityId string = cluster.properties.identityProfile.kubeletidentity.resourceId

@description('Object id of that identity, which pulls images.')
output kubeletObjectId string = cluster.properties.identityProfile.kubeletidentity.objectId

@description('The disk encryption set of the cluster\'s nodes; empty: they have none.')
output diskEncryptionSetId string = cluster.properties.?diskEncryptionSetID ?? ''
