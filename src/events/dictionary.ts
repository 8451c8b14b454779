// The parts of JSON that the events of most payments have in common, each stored as its place in this list: the first 28 as
// one byte, the others as two. Stored events depend on every place and every character, so this list never changes; more can be
// appended, up to 120.

const NO_RESULT =
  '","statusReason":null,"amountPaid":null,"amountReceived":null,"fee":null,"netAmount":null,"paidAt":null,"receiptCode":null,"failure":null,"gatewayReference":null,"receiptNumber":null,"gatewayKey":'

const AFTER_REASON =
  '","amountPaid":null,"amountReceived":null,"fee":null,"netAmount":null,"paidAt":null,"receiptCode":null,"failure":null,'

const CHECKOUT = '","checkoutUrl":null,"accessCode":null,"isRecurring":'

export const FRAGMENTS: readonly string[] = [
  // Of charges.
  '{"apiVersion":"1.0","mode":"live","data":{"reference":"',
  '{"apiVersion":"1.0","mode":"test","data":{"reference":"',
  '","status":"processing","sourceAmount":"',
  '","status":"successful","sourceAmount":"',
  '","status":"pending","sourceAmount":"',
  '","sourceCurrency":"',
  '","paymentGateway":"',
  '","channel":"saved","customer":{"firstname":"',
  '","channel":"saved","customer":{"uuid":"',
  '","firstname":"',
  '","lastname":"',
  '","email":"',
  '"},"createdAt":"',
  `${NO_RESULT}"`,
  '","statusReason":null,"amountPaid":"',
  '","amountReceived":"',
  '","fee":null,"netAmount":null,"paidAt":"',
  '","fee":"',
  '","netAmount":"',
  '","paidAt":"',
  '","receiptCode":"',
  '","failure":null,"gatewayReference":"',
  '","receiptNumber":null,"gatewayKey":"',
  '","refundedAmount":"0.00","description":',
  ',"metadata":{',
  '},"paymentMethod":{"uuid":"',
  '","type":"card","label":"',
  '"},"recovery":null}}',
  // Of checkouts.
  '","country":"',
  `${CHECKOUT}false,"offerSavedMethods":false,"description":`,
  `${CHECKOUT}true,"offerSavedMethods":false,"description":`,
  `${CHECKOUT}false,"offerSavedMethods":true,"description":`,
  '},"redirectUrl":null,"customer":{"firstname":"',
  '},"redirectUrl":null,"customer":{"uuid":"',
  '},"redirectUrl":"https://',
  '","customer":{"firstname":"',
  '","customer":{"uuid":"',
  '","phone":"+',
  '"},"expiresAt":"',
  '","createdAt":"',
  '","channel":"',
  `","channel":null,${NO_RESULT.slice(2)}null,"attempts":[],"refundedAmount":"0.00","paymentMethod":null,"paymentLink":`,
  '","attempts":[{"uuid":"',
  '","status":"succeeded","failureCode":null,"gatewayReference":"',
  '","status":"started","failureCode":null,"gatewayReference":null,"receiptNumber":null,"gatewayKey":"',
  '","status":"awaiting_customer","failureCode":null,"gatewayReference":"',
  '","status":"declined","failureCode":"',
  '","gatewayReference":"',
  '","receiptNumber":"',
  '","gatewayKey":"',
  '","startedAt":"',
  '","endedAt":"',
  '","endedAt":null,"refundedAmount":"0.00"}],"refundedAmount":"0.00","paymentMethod":',
  '","refundedAmount":"0.00"}],"refundedAmount":"0.00","paymentMethod":',
  '","refundedAmount":"0.00"},{"uuid":"',
  'null,"paymentLink":null}}',
  '},"paymentLink":null}}',
  ',"failure":{"code":"',
  '","message":"',
  '","category":"hard","retryable":false},"gatewayReference":',
  '","category":"soft","retryable":true},"gatewayReference":',
  // Of saved methods.
  '{"uuid":"',
  '","type":"card","status":"active","label":"',
  '","type":"mobile_money","status":"active","label":"',
  '","recurringToken":null,"isDefault":true,"paymentGateway":"',
  '","recurringToken":null,"isDefault":false,"paymentGateway":"',
  '","currencies":null,"card":{"brand":"',
  '","last4":"',
  ',"mobileMoney":null,"bankAccount":null,"isRecurringIntent":true,"consent":',
  ',"mobileMoney":null,"bankAccount":null,"isRecurringIntent":false,"consent":',
  '"expiresAt":null,"lastUsedAt":null,"createdAt":"',
  // Of any.
  '"status":"',
  '"statusReason":"',
  'null,"',
  // Of payments without a result.
  `","statusReason":"outcome_unknown${AFTER_REASON}"gatewayReference":null,"receiptNumber":null,"gatewayKey":"`,
  `","statusReason":null${AFTER_REASON.slice(1)}"gatewayReference":"`,
  `${AFTER_REASON}"gatewayReference":null,"receiptNumber":null,"gatewayKey":"`,
  `${AFTER_REASON}"gatewayReference":"`,
  `","statusReason":null${AFTER_REASON.slice(1).replace('null,"failure":null,', 'null,"failure":{"code":"')}`,
  AFTER_REASON.replace('null,"failure":null,', 'null,"failure":{"code":"'),
]
