metadata description = 'Private endpoints for what the functions and the relay use: two storage accounts and the Service Bus.'

@description('Distinguishes names from those of other deployments.')
param suffix string

@description('Region of the endpoints: that of their subnet.')
param location string

@description('Tags of all.')
param tags { *: string }

@description('Resource id of the subnet that the endpoints get addresses of.')
param subnetResourceId string

@description('Resource id of the host\'s storage account.')
param hostStorageId string

@description('Resource id of the storage account of snapshots, decisions and the catalog.')
param dataStorageId string

@description('Resource id of the Service Bus namespace.')
param serviceBusId string

@description('Resource ids of further virtual networks that the zones made here are linked to.')
param zoneLinkedNetworkResourceIds string[]

@description('A private DNS zone for blobs. Empty: one is made and linked to the subnet\'s virtual network.')
param existingBlobZoneResourceId string

@description('A private DNS zone for the Service Bus. Empty: one is made and linked to the subnet\'s virtual network.')
param existingServiceBusZoneResourceId string

var endpointNetwork = split(subnetResourceId, '/subnets/')[0]
var linkedNetworks = union([endpointNetwork], zoneLinkedNetworkResourceIds)
var blobZoneName = 'privatelink.blob.${environment().suffixes.storage}'
// Of this name there is no suffix in environment(): clouds of their own have theirs.
var serviceBusZoneNames = {
  AzureCloud: 'privatelink.servicebus.windows.net'
  AzureUSGovernment: 'privatelink.servicebus.usgovcloudapi.net'
  AzureChinaCloud: 'privatelink.servicebus.chinacloudapi.cn'
}
var serviceBusZoneName = serviceBusZoneNames[environment().name]
var endpoints = [
  {
    name: 'pep-host-${suffix}'
    target: hostStorageId
    groupId: 'blob'
    zone: empty(existingBlobZoneResourceId)
      ? resourceId('Microsoft.Network/privateDnsZones', blobZoneName)
      : existingBlobZoneResourceId
  }
  {
    name: 'pep-data-${suffix}'
    target: dataStorageId
    groupId: 'blob'
    zone: empty(existingBlobZoneResourceId)
      ? resourceId('Microsoft.Network/privateDnsZones', blobZoneName)
      : existingBlobZoneResourceId
  }
  {
    name: 'pep-bus-${suffix}'
    target: serviceBusId
    groupId: 'namespace'
    zone: empty(existingServiceBusZoneResourceId)
      ? resourceId('Microsoft.Network/privateDnsZones', serviceBusZoneName)
      : existingServiceBusZoneResourceId
  }
]

module blobZone 'private-dns-zone.bicep' = if (empty(existingBlobZoneResourceId)) {
  name: 'nodewright-blob-zone-${suffix}'
  params: {
    name: blobZoneName
    tags: tags
    virtualNetworkResourceIds: linkedNetworks
  }
}

module serviceBusZone 'private-dns-zone.bicep' = if (empty(existingServiceBusZoneResourceId)) {
  name: 'nodewright-bus-zone-${suffix}'
  params: {
    name: serviceBusZoneName
    tags: tags
    virtualNetworkResourceIds: linkedNetworks
  }
}

module endpoint 'private-endpoint.bicep' = [
  for one in endpoints: {
    name: 'nodewright-${one.name}'
    dependsOn: [
      blobZone
      serviceBusZone
    ]
    params: {
      name: one.name
      location: location
      tags: tags
      subnetResourceId: subnetResourceId
      targetResourceId: one.target
      groupId: one.groupId
      privateDnsZoneResourceId: one.zone
    }
  }
]
