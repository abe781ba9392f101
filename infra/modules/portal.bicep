metadata description = 'What the portal shows and when it calls: a workbook, alerts on logs and queues, and a budget for machines.'

@description('Resource id of the Log Analytics workspace that Application Insights writes to.')
param workspaceId string

@description('Resource id of the Application Insights component.')
param applicationInsightsId string

@description('Resource id of the Service Bus namespace.')
param serviceBusId string

@description('Resource id of the action group that alerts go to. Empty: alerts are shown in the portal, and tell nobody.')
param actionGroupId string

@description('Alerts are made, and watch. Off: none is.')
param createAlerts bool

@description('What amounts are in (ISO 4217).')
param currency string

@description('What machines may cost in a month, in currency at list prices, before an alert says so; 0: no such alert.')
@minValue(0)
param monthlyCostAlert int

@description('The cluster\'s name: part of the names of what is made, and what the portal shows.')
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
    description: 'The relay in the cluster has not been heard of for five minutes. Nodes still come, up to a minute later. Look at it: kubectl get pods -A -l app.kubernetes.io/name=nodewright-relay; its /readyz says what it cannot list.'
    query: loadTextContent('../portal/alerts/relay-silent.kql')
    column: 'QuietSeconds'
    operator: 'GreaterThan'
    threshold: 300
    severity: 2
    window: 'PT10M'
  }
  {
    name: 'nothing-decided'
    title: 'pods wait and nothing is decided'
    description: 'Every sweep of the last quarter of an hour saw pods that wait for a node, and no plan was made. See what the function provision logs, and messages in the queues pods and poison; restart the app if its instances hang.'
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
    description: 'No sweep has ended for a quarter of an hour: no node comes, none goes. Open the function app: is it running, does GET /api/health say what is missing, do executions of sweep fail? Where SWEEP_SCHEDULE is longer than that, switch this alert off.'
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
    description: 'More than three executions of one function have failed within a quarter of an hour. The exception is beside the execution, under Failures of Application Insights; a denied access names the role or rule that is missing.'
    query: loadTextContent('../portal/alerts/executions-fail.kql')
    column: 'Failed'
    operator: 'GreaterThan'
    threshold: 3
    severity: 2
    window: 'PT15M'
  }
  {
    name: 'messages-kept'
    title: 'a message could not be used'
    description: 'A message was put into the queue poison, with its reason. Kind poison: it cannot be read, or fails for good; look who sends it. Kind bug: an error of Nodewright\'s; please report it with the reason. Then delete the message.'
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
    description: 'A quota of cores is used to 95 % or more, or Azure has refused a machine for it. Ask for more: az quota, or Usage + quotas of the subscription; or let the NodePool use other families.'
    query: loadTextContent('../portal/alerts/quota-wall.kql')
    column: 'Walls'
    operator: 'GreaterThan'
    threshold: 0
    severity: 3
    window: 'PT30M'
  }
  {
    name: 'launch-failures'
    title: 'machines do not come'
    description: 'More than three NodeClaims have failed for one reason within half an hour. RequestDisallowedByPolicy, AuthorizationFailed, SubnetIsFull: somebody has to change that. InsufficientCapacityError: widen sizes or zones of the NodePool. RegistrationTimeout: see why nodes do not join, in docs/troubleshooting.md.'
    query: loadTextContent('../portal/alerts/launch-failures.kql')
    column: 'Failures'
    operator: 'GreaterThan'
    threshold: 3
    severity: 2
    window: 'PT30M'
  }
  {
    name: 'breaker-tripped'
    title: 'a pool has stopped removing nodes'
    description: 'Removing nodes of a NodePool went badly, so it has stopped by itself: replacements of three steps failed within an hour, or a fifth of its nodes is not ready. Its condition DisruptionHealthy says which, and until when: kubectl describe nodepool. Pods get nodes all the same.'
    query: loadTextContent('../portal/alerts/breaker-tripped.kql')
    column: 'Tripped'
    operator: 'GreaterThan'
    threshold: 0
    severity: 2
    window: 'PT15M'
  }
  {
    name: 'drain-begun-late'
    title: 'a drain begun late'
    description: 'Azure announced that it takes machines back, and it took more than five seconds until a node took no more pods, or until its pods had been told to go: some may have gone without their grace period. See beside it whether the API server was slow or refused (lines interruption-step-refused and retry-later), and how many instances of the app there were.'
    query: loadTextContent('../portal/alerts/drain-begun-late.kql')
    column: 'Late'
    operator: 'GreaterThan'
    threshold: 0
    severity: 2
    window: 'PT15M'
  }
  {
    name: 'deployment-not-ready'
    title: 'the deployment lacks something'
    description: 'Something that every node needs is missing or wrong, so none is launched. The line deployment-not-ready has the sentence with the remedy, GET /api/health too.'
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
        title: 'machines cost more than ${monthlyCostAlert} ${currency} a month'
        description: 'At list prices, the machines of the last hour would cost more in a month than monthlyCostAlert. See in the workbook which pools they are of; set spec.limits of the NodePools, or raise the parameter.'
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
    description: 'A queue has dead letters: messages that were delivered ten times, so that even putting them off failed. Read them in the Service Bus Explorer, see why their function failed, and delete them: a sweep finds their work.'
    metric: 'DeadletteredMessages'
    operator: 'Include'
    entity: '*'
  }
  {
    name: 'poison-waits'
    title: 'the queue poison is not empty'
    description: 'Messages that could not be used wait in the queue poison, each with its reason. Read them in the Service Bus Explorer, do what the reason says, and delete them.'
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
