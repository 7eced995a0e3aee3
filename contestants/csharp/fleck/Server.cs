// Fleck as a server: ws.count, ws.broadcast.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Web.Script.Serialization;
using Fleck;

static class Server
{
    static readonly DateTime Epoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);
    static readonly List<IWebSocketConnection> Everybody = new List<IWebSocketConnection>();

    // The serializer reads and writes NaN and infinities.
    static bool IsNoJson(object value)
    {
        return value is double && (double.IsNaN((double)value) || double.IsInfinity((double)value));
    }

    static void Count(IWebSocketConnection socket)
    {
        var json = new JavaScriptSerializer();
        socket.OnMessage = message =>
        {
            try
            {
                var request = json.Deserialize<Dictionary<string, object>>(message);
                if (request.Values.Any(IsNoJson)) throw new ArgumentException("no JSON");
                long now = (long)(DateTime.UtcNow - Epoch).TotalSeconds;
                socket.Send(json.Serialize(new { c = request["c"], ts = now }));
            }
            catch (ArgumentException)
            {
                socket.Close(WebSocketStatusCodes.InvalidFramePayloadData);
            }
        };
    }

    static void Broadcast(IWebSocketConnection socket)
    {
        socket.OnOpen = () =>
        {
            lock (Everybody) Everybody.Add(socket);
        };
        socket.OnClose = () =>
        {
            lock (Everybody) Everybody.Remove(socket);
        };
        // Under the lock, so that all get the messages in one order.
        socket.OnMessage = message =>
        {
            lock (Everybody) Everybody.ForEach(one => one.Send(message));
        };
    }

    static void Main()
    {
        int threads = int.Parse(Environment.GetEnvironmentVariable("WIREBENCH_THREADS") ?? "1");
        ThreadPool.SetMaxThreads(threads, threads);
        FleckLog.LogAction = (level, message, error) => { };
        string host = Environment.GetEnvironmentVariable("WIREBENCH_HOST");
        string port = Environment.GetEnvironmentVariable("WIREBENCH_PORT");
        string workload = Environment.GetEnvironmentVariable("WIREBENCH_WORKLOAD");
        var server = new WebSocketServer("ws://" + host + ":" + port);
        server.ListenerSocket.NoDelay = true;
        // By default one accept that fails, as for too many open files, is the last.
        server.RestartAfterListenError = true;
        server.Start(workload == "ws.broadcast" ? Broadcast : (Action<IWebSocketConnection>)Count);
        Thread.Sleep(Timeout.Infinite);
    }
}
