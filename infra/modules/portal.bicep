metadata description = 'What the portal shows: a workbook, alerts on logs and queues, and a budget for VMs.'

@description('Resource id of the Log Analytics workspace that Application Insights writes to.')
param workspaceId string

@description('Resource id of the Application Insights component.')
param applicationInsightsId string

@description('Resource id of the Service Bus namespace.')
param serviceBusId string

@description('Resource id of the action group that receives alerts. Empty: alerts appear in the portal only.')
param actionGroupId string

@description('Creates the alerts.')
param createAlerts bool

@description('The currency of amounts (ISO 4217).')
param currency string

@description('An alert fires when the VMs would cost more than this in a month, in currency, at list prices; 0: no such alert.')
@minValue(0)
param monthlyCostAlert int

@description('Name of the cluster: part of the names of all resources, and shown in the portal.')
param clusterName string

@description('Region of all.')
param location string

@description('Tags of all.')
param tags { *: string }

var workbookText = replace(
  replace(
    replace(
      replace(loadTextContent('../portal/workbook.json'), '{{workspaceId}}', workspaceId),
      '{{applicationInsightsId}}',
      applicationInsightsId
    ),
    '{{serviceBusId}}',
    serviceBusId
  ),
  '{{currency}}',
  currency
)

var actionGroups = empty(actionGroupId)
  ? []
  : [
      actionGroupId
    ]

// Each query has a file, which a test holds against lines that the product has logged. Its window is looked at as often as it is long.
var logAlerts = [
  {
    name: 'relay-silent'
    title: 'the relay is silent'
    description: 'The relay in the cluster has sent nothing for five minutes. Nodes are still created, up to a minute later. Check its pods: kubectl get pods -A -l app.kubernetes.io/name=nodewright-relay. Its /readyz says what it cannot list.'
    query: loadTextContent('../portal/alerts/relay-silent.kql')
    column: 'QuietSeconds'
    operator: 'GreaterThan'
    threshold: 300
    severity: 2
    window: 'PT10M'
  }
  {
    name: 'nothing-decided'
    title: 'pods are pending and nothing is decided'
    description: 'Every sweep of the last 15 minutes found pending pods, and no plan was made. Check the log of the function provision, and the messages in the queues pods and poison. Restart the app if its instances hang.'
    query: loadTextContent('../portal/alerts/nothing-decided.kql')
    column: 'Waiting'
    operator: 'GreaterThan'
    threshold: 0
    severity: 1
    window: 'PT15M'
  }
  {
    name: 'functions-silent'
    title: 'the functions are silent'
    description: 'No sweep has ended for 15 minutes: no node is created or removed. Check the function app: is it running, what does GET /api/health report, do executions of sweep fail? If SWEEP_SCHEDULE is longer than 15 minutes, switch this alert off.'
    query: loadTextContent('../portal/alerts/functions-silent.kql')
    column: 'Sweeps'
    operator: 'LessThan'
    threshold: 1
    severity: 1
    window: 'PT15M'
  }
  {
    name: 'executions-fail'
    title: 'executions fail'
    description: 'More than three executions of one function have failed within 15 minutes. Application Insights shows the exception of each execution under Failures. If access was denied, the exception names the missing role or rule.'
    query: loadTextContent('../portal/alerts/executions-fail.kql')
    column: 'Failed'
    operator: 'GreaterThan'
    threshold: 3
    severity: 2
    window: 'PT15M'
  }
  {
    name: 'messages-kept'
    title: 'a message could not be handled'
    description: 'A message was moved to the queue poison, with its reason. Kind poison: the message cannot be read, or always fails; find its sender. Kind bug: an error of Nodewright; please report it with the reason. Then delete the message.'
    query: loadTextContent('../portal/alerts/messages-kept.kql')
    column: 'Kept'
    operator: 'GreaterThan'
    threshold: 0
    severity: 2
    window: 'PT15M'
  }
  {
    name: 'quota-wall'
    title: 'a quota is used up'
    description: '95 % or more of a quota of cores is used, or Azure has refused a VM because of the quota. Request a higher quota (az quota, or Usage + quotas of the subscription), or allow other families in the NodePool.'
    query: loadTextContent('../portal/alerts/quota-wall.kql')
    column: 'Walls'
    operator: 'GreaterThan'
    threshold: 0
    severity: 3
    window: 'PT30M'
  }
  {
    name: 'launch-failures'
    title: 'nodes are not created'
    description: 'More than three NodeClaims have failed for one reason within 30 minutes. RequestDisallowedByPolicy, AuthorizationFailed, SubnetIsFull: change the policy, the role or the subnet. InsufficientCapacityError: allow more sizes or zones in the NodePool. RegistrationTimeout: docs/troubleshooting.md says why nodes do not join.'
    query: loadTextContent('../portal/alerts/launch-failures.kql')
    column: 'Failures'
    operator: 'GreaterThan'
    threshold: 3
    severity: 2
    window: 'PT30M'
  }
  {
    name: 'breaker-tripped'
    title: 'disruption of a NodePool is paused'
    description: 'Nodewright has paused voluntary disruption of a NodePool: the replacements of three removals failed within an hour, or a fifth of its nodes is not ready. The condition DisruptionHealthy of the NodePool says which, and until when: kubectl describe nodepool. Pending pods still get nodes.'
    query: loadTextContent('../portal/alerts/breaker-tripped.kql')
    column: 'Tripped'
    operator: 'GreaterThan'
    threshold: 0
    severity: 2
    window: 'PT15M'
  }
  {
    name: 'drain-begun-late'
    title: 'an eviction was handled late'
    description: 'Azure announced an eviction, and it took more than five seconds until the node was tainted or its pods were evicted: some pods may have lost their grace period. Check whether the API server was slow or refused a request (lines interruption-step-refused and retry-later), and how many instances the app had.'
    query: loadTextContent('../portal/alerts/drain-begun-late.kql')
    column: 'Late'
    operator: 'GreaterThan'
    threshold: 0
    severity: 2
    window: 'PT15M'
  }
  {
    name: 'deployment-not-ready'
    title: 'the deployment is incomplete'
    description: 'Something that every node needs is missing or wrong, so no node is created. The line deployment-not-ready and GET /api/health say what it is and how to fix it.'
    query: loadTextContent('../portal/alerts/deployment-not-ready.kql')
    column: 'Sweeps'
    operator: 'GreaterThan'
    threshold: 2
    severity: 1
    window: 'PT15M'
  }
]

var costAlerts = monthlyCostAlert == 0
  ? []
  : [
      {
        name: 'cost-over-budget'
        title: 'VMs cost more than ${monthlyCostAlert} ${currency} a month'
        description: 'At list prices, the VMs of the last hour would cost more in a month than monthlyCostAlert. The workbook shows what they cost. Set spec.limits on the NodePools, or raise the parameter.'
        query: replace(
          replace(
            loadTextContent('../portal/alerts/cost-over-budget.kql'),
            '{monthlyCostAlert}',
            string(monthlyCostAlert)
          ),
          '{currency}',
          currency
        )
        column: 'CostPerMonth'
        operator: 'GreaterThan'
        threshold: 0
        severity: 3
        window: 'PT1H'
      }
    ]

var queueAlerts = [
  {
    name: 'dead-letters'
    title: 'messages are dead-lettered'
    description: 'A queue has dead letters: messages that were delivered ten times without success. Read them in the Service Bus Explorer, find out why their function failed, and delete them: a sweep does their work.'
    metric: 'DeadletteredMessages'
    operator: 'Include'
    entity: '*'
  }
  {
    name: 'poison-waits'
    title: 'the queue poison is not empty'
    description: 'Messages that could not be handled are in the queue poison, each with its reason. Read them in the Service Bus Explorer, do what the reason says, and delete them.'
    metric: 'ActiveMessages'
    operator: 'Include'
    entity: 'poison'
  }
]

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, applicationInsightsId, 'workbook')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Nodewright: ${clusterName}'
    category: 'workbook'
    sourceId: applicationInsightsId
    serializedData: workbookText
  }
}

resource logAlert 'Microsoft.Insights/scheduledQueryRules@2026-03-01' = [
  for alert in concat(logAlerts, costAlerts): if (createAlerts) {
    name: 'nodewright-${clusterName}-${alert.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: 'Nodewright ${clusterName}: ${alert.title}'
      description: alert.description
      severity: alert.severity
      enabled: true
      scopes: [
        workspaceId
      ]
      evaluationFrequency: alert.window
      windowSize: alert.window
      criteria: {
        allOf: [
          {
            query: replace(alert.query, '{applicationInsightsId}', applicationInsightsId)
            timeAggregation: 'Maximum'
            metricMeasureColumn: alert.column
            operator: alert.operator
            threshold: alert.threshold
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      // A workspace made in this deployment may not show its tables yet, and Azure would refuse the rule.
      skipQueryValidation: true
      autoMitigate: true
      actions: {
        actionGroups: actionGroups
      }
    }
  }
]

resource queueAlert 'Microsoft.Insights/metricAlerts@2018-03-01' = [
  for alert in queueAlerts: if (createAlerts) {
    name: 'nodewright-${clusterName}-${alert.name}'
    location: 'global'
    tags: tags
    properties: {
      description: 'Nodewright ${clusterName}: ${alert.title}. ${alert.description}'
      severity: 2
      enabled: true
      scopes: [
        serviceBusId
      ]
      evaluationFrequency: 'PT5M'
      windowSize: 'PT15M'
      criteria: {
        'odata.type': 'Microsoft.Azure.Monitor.MultipleResourceMultipleMetricCriteria'
        allOf: [
          {
            name: alert.name
            criterionType: 'StaticThresholdCriterion'
            metricNamespace: 'Microsoft.ServiceBus/namespaces'
            metricName: alert.metric
            timeAggregation: 'Maximum'
            operator: 'GreaterThan'
            threshold: 0
            dimensions: [
              {
                name: 'EntityName'
                operator: alert.operator
                values: [
                  alert.entity
                ]
              }
            ]
          }
        ]
      }
      autoMitigate: true
      actions: [
        for group in actionGroups: {
          actionGroupId: group
        }
      ]
    }
  }
]

@description('Resource id of the workbook.')
output workbookId string = workbook.id
