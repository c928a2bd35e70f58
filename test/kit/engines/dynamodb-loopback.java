import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Starts DynamoDB Local as its own command does, but for this machine only: it has no option for that. */
class Loopback {
  public static void main(String[] arguments) throws Exception {
    DynamoDBProxyServer dynamo = ServerRunner.createServerFromCommandLineArgs(arguments);
    Field inner = DynamoDBProxyServer.class.getDeclaredField("server");
    inner.setAccessible(true);
    for (Connector connector : ((Server) inner.get(dynamo)).getConnectors()) {
      ((ServerConnector) connector).setHost("127.0.0.1");
    }
    dynamo.start();
  }
}
