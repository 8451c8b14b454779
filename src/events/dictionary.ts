// What the events of most payments have in common, for the compression of their bodies. Stored events depend on every byte of
// it, so it never changes: another dictionary is another constant, with another format in packed.ts. What is most frequent is
// at the end.

const NAMES =
  'bkash chapa daraja flutterwave mtn_momo p2p pawapay paymob paystack sandbox sslcommerz stripe wave ' +
  'BDT EGP ETB GBP GHS KES NGN RWF TZS UGX USD XAF XOF ZAR ZMW ' +
  'abandoned expired partially_refunded refunded disputed reversed declined amount_mismatch requires_review ' +
  'outcome_unknown needs_review awaiting_customer bank_transfer @yahoo.com @example.com @gmail.com'

const FAILURE =
  '"failure":{"code":"insufficient_funds","message":"The ","category":"soft","retryable":true},"code":"declined","category":"hard","retryable":false}'

const SAVED_METHOD =
  '"paymentMethod":{"uuid":"","type":"mobile_money","type":"card","status":"active","label":"mastercard •••• visa •••• ","recurringToken":null,"isDefault":true,"paymentGateway":"' +
  '","currencies":null,"card":{"brand":"visa","last4":"","expiryMonth":,"expiryYear":20},"mobileMoney":null,"mobileMoney":{"network":"","phone":"+"},"bankAccount":null,"isRecurringIntent":true,"consent":null,"expiresAt":null,"lastUsedAt":null,"createdAt":"'

const ATTEMPT =
  '"attempts":[{"uuid":"","paymentGateway":"","channel":"mobile_money","status":"declined","failureCode":"","status":"succeeded","failureCode":null,"gatewayReference":"","receiptNumber":"","gatewayKey":"' +
  '","startedAt":"20","endedAt":"20","endedAt":null,"refundedAmount":"0.00"}]'

const NO_RESULT =
  '"statusReason":null,"amountPaid":null,"amountReceived":null,"fee":null,"netAmount":null,"paidAt":null,"receiptCode":null,"failure":null,"gatewayReference":null,"receiptNumber":null,"gatewayKey":'

const RESULT =
  'Z","statusReason":null,"amountPaid":".00","amountReceived":".00","fee":".00","netAmount":".00","fee":null,"netAmount":null,"paidAt":"2026-","receiptCode":"","failure":null,"gatewayReference":"","receiptNumber":null,"gatewayKey":"'

const PAYMENT =
  '{"apiVersion":"1.0","mode":"test","data":{"reference":"","status":"processing","status":"pending","sourceAmount":".00","sourceCurrency":"","country":"","paymentGateway":"sandbox","checkoutUrl":null,"accessCode":null,"isRecurring":true' +
  ',"isRecurring":false,"offerSavedMethods":false,"description":"","description":null,"metadata":{"orderId":"","metadata":{},"redirectUrl":"https://","redirectUrl":null,"customer":{"firstname":"","lastname":"","email":"","phone":"+"},"expiresAt":"2026-' +
  `Z","createdAt":"2026-Z","channel":"card","channel":"mobile_money","channel":null,${NO_RESULT}null,"attempts":[],"refundedAmount":"0.00","paymentMethod":null,"paymentLink":"","paymentLink":null}}`

const CHARGE =
  `{"apiVersion":"1.0","mode":"live","data":{"reference":"order-","status":"processing","status":"successful","sourceAmount":".00","sourceCurrency":"KES","paymentGateway":"sandbox","channel":"saved","customer":{"firstname":"","lastname":"","email":"@gmail.com"},"createdAt":"2026-Z",${NO_RESULT}"${RESULT}` +
  '","refundedAmount":"0.00","description":"Subscription","description":null,"metadata":{},"paymentMethod":{"uuid":"","type":"card","label":"visa •••• "},"recovery":null}}'

export const DICTIONARY_1 = Buffer.from(NAMES + FAILURE + SAVED_METHOD + ATTEMPT + RESULT + PAYMENT + CHARGE)
